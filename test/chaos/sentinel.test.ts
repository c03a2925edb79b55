import { afterAll, afterEach, beforeAll, expect, it } from "vitest"
import { keysWithoutExpiry } from "../redis/expiry-scan.js"
import { eventually } from "../support/eventually.js"
import { type SentinelTopology, startSentinel } from "../support/redis/sentinel.js"
import { expectNoUnhandledRejections } from "./rejections.js"
import { type Subject, underLoad, worstOf } from "./subject.js"

expectNoUnhandledRejections()

let topology: SentinelTopology
let subject: Subject

beforeAll(async () => {
  topology = await startSentinel()
}, 40_000)
afterAll(() => topology.stop())
afterEach(() => subject.close())

it("follows a primary that Sentinel moves, and admits at most twice the limit meanwhile", {
  timeout: 30_000,
}, async () => {
  subject = await underLoad(topology.url)
  await subject.shared()
  const next = await topology.failover()
  // The old primary answers until it learns of the change, and then replies READONLY.
  await eventually(async () => (await callsOf(next)) > 0, {
    within: 10_000,
    what: "the new primary is asked",
  })
  await subject.shared()
  await subject.sound()
  expect(worstOf(subject.load, "local")).toBeLessThanOrEqual(2 * subject.load.limit)
  expect(await keysWithoutExpiry([next])).toEqual([])
})

it("finds the new primary when the old one is killed", { timeout: 30_000 }, async () => {
  subject = await underLoad(topology.url)
  await subject.shared()
  const old = await topology.killPrimary()
  await subject.degraded()
  await topology.primaryOtherThan(old)
  await subject.shared()
  await subject.sound()
  expect(worstOf(subject.load, "local")).toBeLessThanOrEqual(2 * subject.load.limit)
  await old.restart()
  await topology.settled()
})

it("finds the new primary while the old one is frozen, and stays there when it thaws", {
  timeout: 30_000,
}, async () => {
  subject = await underLoad(topology.url)
  await subject.shared()
  const old = await topology.primary()
  await old.pause()
  await subject.degraded()
  const next = await topology.primaryOtherThan(old)
  await subject.shared()
  old.resume()
  await topology.settled()
  await subject.shared()
  await subject.sound()
  expect(await topology.primary()).toBe(next)
  expect(worstOf(subject.load, "local")).toBeLessThanOrEqual(2 * subject.load.limit)
})

/** How many checks a server has received. */
async function callsOf(server: { cli: SentinelTopology["servers"][number]["cli"] }): Promise<number> {
  const stats = String(await server.cli("INFO", "commandstats"))
  return Number(/^cmdstat_evalsha:calls=(\d+)/m.exec(stats)?.[1] ?? 0)
}
