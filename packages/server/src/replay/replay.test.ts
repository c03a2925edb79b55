import { describe, expect, it } from "vitest"
import {
  disordered,
  inChunks,
  type MeantRequest,
  NGINX_FORMAT,
  packed,
  traffic,
  type WrittenFormat,
  writers,
  written,
} from "./log/log-generator.test-support.js"
import type { ReplayOptions } from "./model/replay-options.js"
import type { CandidateReport } from "./model/report.js"
import { replay } from "./replay.js"

const LIMIT = 8
const WINDOW_MS = 60_000

const perIp = `
version: 1
rules:
  - id: per-ip
    keyBy: ip
    limits: [{ algorithm: sliding-window-log, limit: ${LIMIT}, window: 1m }]
`

function run(bytes: Uint8Array, ruleSet = perIp, options: Partial<ReplayOptions> = {}) {
  return replay(inChunks(bytes, 4_096), { rules: [{ name: "rules.yaml", ruleSet }], ...options })
}

/** What `per-ip` denies, counted as plainly as it can be said. */
function deniedByHand(requests: readonly MeantRequest[]): MeantRequest[] {
  const charged = new Map<string, number[]>()
  return requests.filter(({ at, ip }) => {
    const times = (charged.get(ip) ?? []).filter((time) => at - time < WINDOW_MS)
    charged.set(ip, times)
    if (times.length >= LIMIT) return true
    times.push(at)
    return false
  })
}

function countBy<T>(items: readonly T[], keyOf: (item: T) => string): Map<string, number> {
  const counts = new Map<string, number>()
  for (const item of items) counts.set(keyOf(item), (counts.get(keyOf(item)) ?? 0) + 1)
  return counts
}

const meant = traffic({ requests: 3_000 })
const shuffled = disordered(meant, 30_000)
const byTime = [...shuffled].sort((a, b) => a.at - b.at)
const denied = deniedByHand(byTime)

describe.each(Object.keys(writers) as WrittenFormat[])("a replay of an unsorted %s log", (format) => {
  it("denies exactly what counting by hand denies: in all, by client, by minute", async () => {
    const options = format === "nginx" ? { format: { nginx: NGINX_FORMAT } } : {}
    const report = await run(packed(written(format, shuffled)), perIp, options)
    const [candidate] = report.candidates as [CandidateReport]
    expect(denied.length).toBeGreaterThan(100)
    expect(report).toMatchObject({ requests: 3_000, from: byTime[0]?.at, to: byTime.at(-1)?.at })
    expect(report.clients).toEqual({ count: new Set(meant.map(({ ip }) => ip)).size, exact: true })
    expect(candidate).toMatchObject({ denied: denied.length, allowed: 3_000 - denied.length, uncounted: 0 })
    expect(candidate.rules).toMatchObject([{ id: "per-ip", requests: 3_000, denied: denied.length }])

    const byClient = countBy(denied, ({ ip }) => `ip:${ip}`)
    expect(candidate.hurt.clients).toEqual({ count: byClient.size, exact: true })
    for (const { client, denied: count, requests, firstDenied, lastDenied } of candidate.hurt.most) {
      const own = denied.filter(({ ip }) => client === `ip:${ip}`)
      expect([client, count]).toEqual([client, byClient.get(client)])
      expect(requests).toBe(meant.filter(({ ip }) => client === `ip:${ip}`).length)
      expect([firstDenied, lastDenied]).toEqual([own[0]?.at, own.at(-1)?.at])
    }
    expect(candidate.rules[0]?.keys).toHaveLength(Math.min(20, byClient.size))
    for (const { key, denied: count } of candidate.rules[0]?.keys ?? []) expect(count).toBe(byClient.get(key))

    const minute = ({ at }: MeantRequest) => String(Math.floor(at / 60_000) * 60_000)
    const byMinute = countBy(denied, minute)
    const worst = [...byMinute.values()].sort((a, b) => b - a).slice(0, 10)
    expect(candidate.worstMinutes.map((step) => step.denied)).toEqual(worst)
    for (const step of candidate.worstMinutes) expect(step.denied).toBe(byMinute.get(String(step.at)))
    const sum = (field: "requests" | "denied") => candidate.series.reduce((all, step) => all + step[field], 0)
    expect([sum("requests"), sum("denied")]).toEqual([3_000, denied.length])
  })
})

describe("a replay", () => {
  it("sorts hurt clients by the share of their requests that was denied", async () => {
    const report = await run(written("combined", shuffled))
    const [{ hurt }] = report.candidates as [CandidateReport]
    const all = countBy(meant, ({ ip }) => ip)
    const shares = [...countBy(denied, ({ ip }) => ip)].map(([ip, count]) => count / (all.get(ip) as number))
    const upTo = (low: number, high: number) => shares.filter((share) => share > low && share <= high).length
    expect(hurt.shares).toEqual([
      { upTo: 0.01, clients: upTo(0, 0.01) },
      { upTo: 0.1, clients: upTo(0.01, 0.1) },
      { upTo: 0.5, clients: upTo(0.1, 0.5) },
      { upTo: 1, clients: upTo(0.5, 1) },
    ])
  })

  it("runs several candidates side by side, each on counters of its own", async () => {
    const loose = perIp.replace(`limit: ${LIMIT}`, "limit: 1000000")
    const shadow = perIp.replace("keyBy: ip", "mode: shadow\n    keyBy: ip")
    const report = await replay([written("combined", shuffled)], {
      rules: [
        { name: "now", ruleSet: perIp },
        { name: "loose", ruleSet: loose },
        { name: "shadow", ruleSet: shadow },
      ],
    })
    expect(report.candidates.map(({ name, denied }) => [name, denied])).toEqual([
      ["now", denied.length],
      ["loose", 0],
      ["shadow", 0],
    ])
    expect(report.candidates[2]?.rules).toMatchObject([
      { mode: "shadow", denied: 0, shadowDenied: denied.length },
    ])
    expect(report.candidates[2]?.worstMinutes[0]?.shadowDenied).toBeGreaterThan(0)
  })

  it("counts a request that two rules deny for both, and charges a rule nothing when the other denies", async () => {
    const rules = `
version: 1
rules:
  - { id: tight, keyBy: ip, limits: [{ algorithm: sliding-window-log, limit: 1, window: 1m }] }
  - { id: wide, keyBy: ip, limits: [{ algorithm: sliding-window-log, limit: 2, window: 1h }] }
  - { id: posts, match: { method: POST }, keyBy: ip, limits: [{ limit: 100, window: 1m }] }
`
    const at = (minute: number, second: number): MeantRequest => ({
      ...(meant[0] as MeantRequest),
      method: "GET",
      at: Date.UTC(2026, 4, 17, 10, minute, second),
    })
    const log = written("combined", [at(0, 0), at(0, 1), at(2, 0), at(2, 1), at(4, 0)])
    const [candidate] = (await run(log, rules)).candidates as [CandidateReport]
    expect(candidate.denied).toBe(3)
    expect(candidate.rules.map(({ id, requests, denied }) => [id, requests, denied])).toEqual([
      ["tight", 5, 2],
      ["wide", 5, 2],
      ["posts", 0, 0],
    ])
  })

  it("counts a rule with candidate limits once, and their denials separately", async () => {
    const rules = perIp.replace(
      "limits: [{ algorithm: sliding-window-log",
      `candidate: { limits: [{ algorithm: sliding-window-log, limit: ${LIMIT}, window: 1m }] }
    limits: [{ algorithm: sliding-window-log`,
    )
    const loose = rules.replace(/limit: 8, window: 1m \}\]\n$/, "limit: 1000000, window: 1m }]\n")
    const [candidate] = (await run(written("combined", shuffled), loose)).candidates as [CandidateReport]
    expect(candidate.denied).toBe(0)
    expect(candidate.rules).toMatchObject([{ requests: 3_000, denied: 0, shadowDenied: denied.length }])
  })

  it("reports why requests were denied without a limit", async () => {
    const rules = `
version: 1
deny: ["ip:198.51.0.1"]
rules:
  - { id: keyed, keyBy: user, onMissingKey: deny, match: { path: /login }, limits: [{ limit: 5, window: 1m }] }
`
    const [candidate] = (await run(written("combined", meant), rules)).candidates as [CandidateReport]
    const listed = meant.filter(({ ip }) => ip === "198.51.0.1")
    const keyless = meant.filter(({ ip, path }) => ip !== "198.51.0.1" && path === "/login")
    expect(candidate.deniedOutright).toEqual({ "deny-list": listed.length, "missing-key": keyless.length })
    expect(candidate.rules).toMatchObject([{ id: "keyed", denied: keyless.length }])
  })

  it("matches rules by the headers in the log", async () => {
    const rules = perIp.replace("keyBy: ip", 'match: { header: { user-agent: "crawler*" } }\n    keyBy: ip')
    const [candidate] = (await run(written("combined", meant), rules)).candidates as [CandidateReport]
    expect(candidate.rules[0]?.requests).toBe(meant.filter(({ agent }) => agent.startsWith("crawler")).length)
  })

  it("reports how long a queueing bucket would have held requests", async () => {
    const rules = perIp.replace("sliding-window-log,", "leaky-bucket, overflow: queue,")
    const [candidate] = (await run(written("combined", meant), rules)).candidates as [CandidateReport]
    expect(candidate.delayed.count).toBeGreaterThan(0)
    expect(candidate.delayed.longestMs).toBeGreaterThan(0)
  })

  it("uses longer steps for a log that spans weeks, and keeps the totals", async () => {
    const log = traffic({ requests: 2_000, everyMs: 1_200_000 })
    const report = await run(written("combined", log))
    expect(report.stepMs).toBeGreaterThanOrEqual(900_000)
    expect(report.candidates[0]?.series.length).toBeLessThanOrEqual(1_501)
    expect(report.candidates[0]?.series.reduce((sum, { requests }) => sum + requests, 0)).toBe(2_000)
  })

  it("reports its progress", async () => {
    const bytes = packed(written("combined", meant))
    const seen: { bytes: number; lines: number }[] = []
    await run(bytes, perIp, { onProgress: (progress) => seen.push(progress) })
    expect(seen.at(-1)).toEqual({ bytes: bytes.length, lines: 3_000 })
  })

  it("refuses invalid rules with the name of their file, and an empty list of candidates", async () => {
    await expect(
      run(written("combined", meant), "version: 1\nrules: [{ id: a, limits: 5 }]"),
    ).rejects.toMatchObject({
      code: "RULES_INVALID",
      message: expect.stringContaining("rules.yaml"),
    })
    await expect(replay([], { rules: [] })).rejects.toMatchObject({ code: "OPTION_MISSING" })
  })
})

describe("limits of concurrency", () => {
  const twoAtOnce = `
version: 1
rules:
  - { id: at-once, keyBy: ip, limits: [{ algorithm: concurrency, limit: 2, hold: 1m }] }
  - { id: tried, mode: shadow, keyBy: ip, limits: [{ algorithm: concurrency, limit: 1, hold: 1m }] }
`
  /** Seconds at which requests begin, and how long they take. */
  const calls = [
    [0, 10],
    [1, 2],
    [2, 5],
    [3, 4],
    [5, 1],
    [7, 90],
    [10, 1],
    [12, 1],
    [66, 90],
    [67, 1],
  ] as const
  const allowed = [true, true, false, true, false, true, true, true, true, true]
  const begin = Date.parse("2026-05-17T10:00:00Z")
  const time = (seconds: number) => new Date(begin + seconds * 1_000).toISOString()

  const formats = {
    envoy: ([at, took]: readonly [number, number]) =>
      `{"start_time":"${time(at)}","duration":${took * 1_000},"method":"GET","path":"/","downstream_remote_address":"192.0.2.1:1"}`,
    traefik: ([at, took]: readonly [number, number]) =>
      `{"StartUTC":"${time(at)}","Duration":${took * 1e9},"RequestMethod":"GET","RequestPath":"/","ClientHost":"192.0.2.1"}`,
  }

  it.each(Object.entries(formats))("hold for as long as a request of a log of %s took", async (_, line) => {
    const report = await run(Buffer.from(`${calls.map(line).join("\n")}\n`), twoAtOnce)
    const [candidate] = report.candidates as [CandidateReport]
    expect(candidate.denied).toBe(allowed.filter((one) => !one).length)
    expect(candidate.series.filter(({ denied }) => denied > 0).map(({ at }) => (at - begin) / 1_000)).toEqual(
      [2, 5],
    )
    expect(candidate.holds.untimed).toBe(0)
    expect(candidate.rules[1]?.shadowDenied).toBeGreaterThan(2)
  })

  it("hold nothing for requests whose duration is not known, and the report tells how many", async () => {
    const lines = Array.from(
      { length: 9 },
      (_, i) => `192.0.2.1 - - [17/May/2026:10:00:0${i} +0000] "GET / HTTP/1.1" 200 1`,
    )
    const report = await run(Buffer.from(`${lines.join("\n")}\n`), twoAtOnce)
    const [candidate] = report.candidates as [CandidateReport]
    expect(candidate).toMatchObject({ denied: 0, holds: { timed: 0, untimed: 9 } })
    expect(candidate.rules.map(({ requests, shadowDenied }) => [requests, shadowDenied])).toEqual([
      [9, 0],
      [9, 0],
    ])
  })
})
