import { openCalendar } from "sluice/internal"
import { describe, expect, it } from "vitest"
import { disordered, inChunks, traffic, written } from "../log/log-generator.test-support.js"
import { replay } from "../replay.js"
import { peakMeter, RECOMMENDED_ALGORITHMS } from "./peak-meter.js"
import { PeakTable } from "./peak-table.js"
import { type Recommendation, recommend } from "./recommend.js"

const log = written("combined", disordered(traffic({ requests: 5_000, clients: 120, everyMs: 250 }), 20_000))

/** How many clients a recommendation really hurts when its rule is enforced, with this limit. */
async function hurtWith({ ruleSet }: Recommendation, limit: number): Promise<number> {
  const rules = ruleSet.rules.map((rule) => ({
    ...rule,
    mode: "enforce" as const,
    limits: (rule.limits as { limit: number; window: string }[]).map((one) => ({ ...one, limit })),
  }))
  const report = await replay([log], { rules: [{ name: "recommended", ruleSet: { ...ruleSet, rules } }] })
  return report.candidates[0]?.hurt.clients.count ?? Number.NaN
}

describe.each(RECOMMENDED_ALGORITHMS)("a limit recommended for %s", (algorithm) => {
  it.each([0, 0.02, 0.1])("hurts at most a share of %d of the clients when it is enforced", async (share) => {
    const found = await recommend(inChunks(log), { share, algorithm, window: "30s" })
    const most = Math.floor(share * found.clients.count)
    expect(found.denied.clients).toBeLessThanOrEqual(most)
    expect(await hurtWith(found, found.limit)).toBeLessThanOrEqual(most)
    if (algorithm === "token-bucket") return
    // Exactly the clients it says; and one less would hurt too many.
    expect(await hurtWith(found, found.limit)).toBe(found.denied.clients)
    expect(await hurtWith(found, found.limit - 1)).toBeGreaterThan(most)
  })
})

describe("a limit recommended for a window of the calendar", () => {
  it.each([
    { window: "hour", timeZone: "Asia/Kolkata" },
    { window: "day", timeZone: "Europe/Berlin" },
    { window: "month" },
  ])("%j hurts exactly the clients that it says", async (options) => {
    const found = await recommend(inChunks(log), { ...options, share: 0.1 })
    expect(found.ruleSet.rules[0]?.limits).toEqual([
      { algorithm: "fixed-window", limit: found.limit, ...options },
    ])
    expect(found.window).toBe(options.window)
    expect(await hurtWith(found, found.limit)).toBe(found.denied.clients)
    expect(await hurtWith(found, found.limit - 1)).toBeGreaterThan(Math.floor(0.1 * found.clients.count))
  })

  it("differs from one of the same length in UTC where the day begins elsewhere", () => {
    const berlin = openCalendar({ unit: "day", timeZone: "Europe/Berlin" }, "test")
    const [there, here] = [peakMeter("fixed-window", 0, berlin), peakMeter("fixed-window", 86_400_000_000)]
    // 23:30 and 00:30 in Berlin, on one day of UTC.
    for (const time of ["2026-07-01T21:30:00Z", "2026-07-01T22:30:00Z"])
      for (const meter of [there, here]) meter.request(Date.parse(time) * 1000)
    expect([there.peak, here.peak]).toEqual([1, 2])
  })
})

describe("a recommendation", () => {
  it("shows the distribution of peaks, which adds up to all clients", async () => {
    const found = await recommend([log], { window: "10s" })
    const { p50, p75, p90, p95, p99, p999, max } = found.peaks
    const ordered = [p50, p75, p90, p95, p99, p999, max]
    expect(ordered).toEqual([...ordered].sort((a, b) => a - b))
    expect(found.histogram.reduce((sum, { clients }) => sum + clients, 0)).toBe(found.clients.count)
    expect(found).toMatchObject({ requests: 5_000, notCounted: 0, windowMs: 10_000, share: 0.001 })
  })

  it("counts only requests that match and have the key", async () => {
    const found = await recommend([log], { match: { path: "/v1/**" }, keyBy: ["ip", "route"] })
    expect(found.notCounted).toBeGreaterThan(1_000)
    expect(found.ruleSet.rules[0]).toMatchObject({
      mode: "shadow",
      match: { path: "/v1/**" },
      keyBy: ["ip", "route"],
      limits: [{ algorithm: "sliding-window-counter", limit: found.limit, window: "1m" }],
    })
    await expect(recommend([log], { keyBy: "user" })).rejects.toMatchObject({ code: "LOG_FORMAT_INVALID" })
  })

  it("writes a rules file that a replay accepts unchanged", async () => {
    const { yaml, limit } = await recommend([log], { id: "visitors" })
    const report = await replay([log], { rules: [{ name: "recommended.yaml", ruleSet: yaml }] })
    expect(report.candidates[0]?.rules).toMatchObject([{ id: "visitors", mode: "shadow", requests: 5_000 }])
    expect(yaml).toContain(`limit: ${limit}`)
  })

  it.each([
    [{ share: 1 }, "recommend.share"],
    [{ share: Number.NaN }, "recommend.share"],
    [{ window: "soon" }, "recommend.window"],
    [{ window: "day", algorithm: "token-bucket" as const }, "recommend.algorithm"],
    [{ window: "day", timeZone: "Mars/Olympus" }, "recommend.timeZone"],
    [{ window: "1d", timeZone: "Europe/Berlin" }, "recommend.timeZone"],
    [{ algorithm: "gcra" as never }, "recommend.algorithm"],
  ])("is refused for %j", async (options, place) => {
    await expect(recommend([log], options)).rejects.toMatchObject({ place })
  })
})

describe("a peak", () => {
  it("is never too low for a client with more requests in a window than are kept", () => {
    const meter = peakMeter("sliding-window-log", 60_000_000)
    for (let i = 0; i < 5_000; i++) meter.request(1e15 + i * 10_000)
    expect(meter.peak).toBe(5_000)
    for (let i = 5_000; i < 20_000; i++) meter.request(1e15 + i * 10_000)
    expect(meter.peak).toBeGreaterThanOrEqual(6_000)
    expect(meter.peak).toBeLessThan(6_100)
  })

  it("comes from a uniform sample when there are more keys than are kept", () => {
    const table = new PeakTable(() => peakMeter("fixed-window", 60_000_000), 10_000)
    for (let round = 0; round < 3; round++)
      for (let i = 0; i < 100_000; i++) if (i % 3 >= round) table.request(`ip:${i}`, 1e15)
    expect(table.keys.exact).toBe(false)
    expect(Math.abs(table.keys.count - 100_000)).toBeLessThan(3_000)
    const { peaks } = table
    expect(peaks.length).toBeGreaterThan(4_000)
    for (const peak of [1, 2, 3])
      expect(peaks.filter((one) => one === peak).length / peaks.length).toBeCloseTo(1 / 3, 1)
  })
})
