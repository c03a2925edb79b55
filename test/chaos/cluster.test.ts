import { createLimiter } from "sluice"
import { connectRedis } from "sluice/redis"
import { afterAll, afterEach, beforeAll, expect, it } from "vitest"
import { keysWithoutExpiry } from "../redis/expiry-scan.js"
import { eventually } from "../support/eventually.js"
import { type ClusterNode, type RedisCluster, startCluster } from "../support/redis/cluster.js"
import { ownsSlot, viewOf } from "../support/redis/cluster-view.js"
import { keyslot, SLOT_COUNT } from "../support/redis/keyslot.js"
import { HOT, type Sample } from "./load.js"
import { expectNoUnhandledRejections } from "./rejections.js"
import { isDegraded, PATIENT_DEADLINE, type Subject, underLoad, worstOf } from "./subject.js"

expectNoUnhandledRejections()

let cluster: RedisCluster
let subject: Subject

beforeAll(async () => {
  // By default a Cluster refuses everything while the slots of one primary have no owner.
  cluster = await startCluster({ config: { "cluster-require-full-coverage": "no" } })
}, 40_000)
afterAll(() => cluster.stop())
afterEach(() => subject.close())

it("follows a primary that hands over to its replica", { timeout: 30_000 }, async () => {
  subject = await underLoad(cluster.url)
  await subject.shared()
  await cluster.failover(keyslot(HOT))
  await subject.shared()
  await subject.sound()
  expect(worstOf(subject.load, "local")).toBeLessThanOrEqual(2 * subject.load.limit)
})

it("continues through a live reshard of the slot of its busiest key, at every stage", {
  timeout: 30_000,
}, async () => {
  subject = await underLoad(cluster.url)
  await subject.shared()
  const slot = keyslot(HOT)
  const target = await cluster.nodeForSlot((slot + SLOT_COUNT / 2) % SLOT_COUNT)
  await cluster.moveSlot(slot, target, {
    onOpen: () => subject.answered(),
    onHalfMoved: () => subject.answered(),
    onKeysMoved: () => subject.answered(),
  })
  await subject.shared()
  await subject.sound()
  // A check on a slot that is being moved is answered by one of the two nodes or degraded, and never counted twice.
  expect(worstOf(subject.load, "deny")).toBeLessThanOrEqual(subject.load.limit)
  expect(worstOf(subject.load, "local")).toBeLessThanOrEqual(2 * subject.load.limit)
})

it("degrades the share of a frozen primary only, and finds its replica", { timeout: 40_000 }, async () => {
  subject = await underLoad(cluster.url, { otherKeys: 64, perSecond: 600 }, { deadline: PATIENT_DEADLINE })
  await subject.shared()
  const slot = keyslot(HOT)
  const victim = await cluster.nodeForSlot(slot)
  const theirs = await breakersOf(victim)
  const isTheirs = ({ key }: Sample): boolean => theirs.has(breakerOf(keyslot(key)))

  const pausedAt = performance.now()
  await victim.pause()
  await subject.only(isTheirs)
  await cluster.ownerOtherThan(slot, victim)
  await subject.shared()
  victim.resume()
  await cluster.settled()
  await subject.sound()
  const others = subject.load.since(pausedAt).filter((sample) => !isTheirs(sample))
  expect(others.length).toBeGreaterThan(100)
  expect(others.filter(isDegraded)).toEqual([])
})

it("degrades the share of a killed primary only, and finds its replica", { timeout: 40_000 }, async () => {
  subject = await underLoad(cluster.url)
  await subject.shared()
  const slot = keyslot(HOT)
  const victim = await cluster.killPrimary(slot)
  await cluster.ownerOtherThan(slot, victim)
  await subject.shared()
  await subject.sound()
  expect(worstOf(subject.load, "local")).toBeLessThanOrEqual(2 * subject.load.limit)
  await victim.restart()
  await cluster.settled()
  expect(await keysWithoutExpiry(cluster.nodes)).toEqual([])
})

it("does not repeat calls that were in progress when a connection broke", { timeout: 30_000 }, async () => {
  const store = await connectRedis(cluster.url, { deadline: "80ms" })
  const limiter = createLimiter({ store, limit: 10, window: "1m" })
  const shared = async () => {
    const peek = await limiter.peek("client")
    return peek.degraded === undefined ? peek : undefined
  }
  await eventually(shared, { what: "the cluster is found" })
  const node = await cluster.nodeForSlot(keyslot("client"))
  const control = await node.connect()
  // The server holds the call back and has not run it when the connection breaks.
  await control.command("CLIENT", "PAUSE", 60_000, "WRITE")
  const lost = await Promise.all([limiter.check("client"), limiter.check("client")])
  expect(lost.map(({ degraded }) => degraded)).toEqual(["local", "local"])
  await control.command("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes")
  await control.command("CLIENT", "UNPAUSE")
  control.close()
  await eventually(shared, { what: "the cluster is back" })
  // A client that repeats does so after 100 ms.
  for (
    const until = performance.now() + 300;
    performance.now() < until;
    await new Promise((next) => setTimeout(next, 20))
  )
    expect((await limiter.peek("client")).remaining).toBe(10)
  await store.close()
})

/** The store has a breaker for every sixteenth of the slots. */
function breakerOf(slot: number): number {
  return Math.floor(slot / (SLOT_COUNT / 16))
}

/** The breakers for the slots of a node. */
async function breakersOf(node: ClusterNode): Promise<Set<number>> {
  const own = (await viewOf(node)).find(({ id }) => id === node.id)
  const slots = Array.from({ length: SLOT_COUNT }, (_, slot) => slot)
  return new Set(slots.filter((slot) => own !== undefined && ownsSlot(own, slot)).map(breakerOf))
}
