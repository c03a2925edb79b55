import { describe, expect, it } from "vitest"
import { keysWithoutExpiry } from "../redis/expiry-scan.js"
import { eventually } from "../support/eventually.js"
import { type Bed, openBed } from "./bed.js"
import { expectNoUnhandledRejections } from "./rejections.js"
import { singleFaults } from "./single-faults.js"
import { DEADLINE, isDegraded, PATIENT_DEADLINE, underLoad, worstOf } from "./subject.js"

expectNoUnhandledRejections()

// All at once, each with its own server, because most of the time they wait.
describe.concurrent("decides in time, says how, and recovers by itself when one server is", () => {
  it.for(singleFaults)("$name", { timeout: 30_000 }, async (fault, { onTestFinished }) => {
    const bed = await openBed(fault.bed)
    onTestFinished(bed.stop)
    const url = fault.proxied ? bed.proxy.url : bed.redis.url
    // Faults that are not delays show as errors. A long deadline keeps a busy machine from adding timeouts.
    const deadline = fault.kinds.includes("timeout") ? DEADLINE : PATIENT_DEADLINE
    const subject = await underLoad(url, {}, { deadline })
    onTestFinished(subject.close)
    const { store, load, failures } = subject
    await subject.shared()

    const before = failures.length
    await fault.strike(bed)
    const struckAt = performance.now()
    await eventually(() => store.breakers.includes("open"), { every: 1, what: "the breaker opens" })
    await subject.degraded()
    const mendingAt = performance.now()
    await fault.mend(bed)
    await subject.shared()
    await subject.sound()

    const kinds = new Set(failures.slice(before).map(({ failure }) => failure.kind))
    kinds.delete("breaker-open")
    expect([...kinds].filter((kind) => !fault.kinds.includes(kind))).toEqual([])
    expect(kinds.size).toBeGreaterThan(0)
    const during = load.since(struckAt).filter(({ endedAt }) => endedAt < mendingAt)
    expect(during.filter((sample) => !isDegraded(sample))).toEqual([])
    if (fault.ambiguous === "some") expect(store.stats.ambiguous).toBeGreaterThan(0)
    if (fault.ambiguous === "never") expect(store.stats.ambiguous).toBe(0)
    if (fault.loses !== true) expect(worstOf(load, "deny")).toBeLessThanOrEqual(load.limit)
    expect(worstOf(load, "local")).toBeLessThanOrEqual(2 * load.limit)
    expect(await keysWithoutExpiry([bed.redis])).toEqual([])

    await subject.close()
    bed.control.close()
    await eventually(async () => (await clientsOf(bed)) === 1, {
      what: "no connection but the question's own is left",
    })
  })
})

async function clientsOf({ redis }: Bed): Promise<number> {
  const list = await redis.cli("CLIENT", "LIST", "TYPE", "normal")
  return String(list).trim().split("\n").length
}
