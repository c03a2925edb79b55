import { afterAll, beforeAll, expect, it } from "vitest"
import { sandboxRoot } from "../sandbox.js"
import { type RedisCluster, startCluster } from "./cluster.js"
import { keyslot, SLOT_COUNT } from "./keyslot.js"

let cluster: RedisCluster

beforeAll(async () => {
  cluster = await startCluster()
}, 40_000)

afterAll(async () => {
  await cluster.stop()
  expect(cluster.nodes.filter((node) => node.running)).toEqual([])
  expect(sandboxRoot()).toBeUndefined()
})

it("has three primaries that own all slots, with a replica each", async () => {
  const owners = new Set<string>()
  for (const slot of [0, 8_000, SLOT_COUNT - 1]) {
    owners.add((await cluster.nodeForSlot(slot)).id)
    expect(await cluster.replicasForSlot(slot)).toHaveLength(1)
  }
  expect(owners.size).toBe(3)
  expect(cluster.nodes).toHaveLength(6)
})

it("agrees with keyslot() about every key", async () => {
  const node = await cluster.nodeForSlot(0)
  for (const key of [
    "",
    "foo",
    "{user1000}.following",
    "foo{}{bar}",
    "foo{{bar}}zap",
    "{",
    "}{a}",
    "é{日本}",
  ]) {
    expect([key, await node.cli("CLUSTER", "KEYSLOT", key)]).toEqual([key, keyslot(key)])
  }
})

it("moves a slot with its keys, and a test can act half way", async () => {
  const keys = Array.from({ length: 10 }, (_, i) => `{moving}:${i}`)
  const slot = keyslot("moving")
  const from = await cluster.nodeForSlot(slot)
  const to = await cluster.nodeForSlot((slot + SLOT_COUNT / 2) % SLOT_COUNT)
  for (const key of keys) await from.cli("SET", key, key, "PX", 60_000)
  const seen: string[] = []
  await cluster.moveSlot(slot, to, {
    async onOpen() {
      await expect(from.cli("GET", "{moving}:absent")).rejects.toMatchObject({ code: "ASK" })
      expect(await from.cli("GET", "{moving}:0")).toBe("{moving}:0")
      seen.push("open")
    },
    async onHalfMoved() {
      expect(await from.cli("CLUSTER", "COUNTKEYSINSLOT", slot)).toBe(5)
      await expect(from.cli("MGET", ...keys)).rejects.toMatchObject({ code: "TRYAGAIN" })
      seen.push("half")
    },
    async onKeysMoved() {
      await expect(from.cli("GET", "{moving}:0")).rejects.toMatchObject({ code: "ASK" })
      seen.push("moved")
    },
  })
  expect(seen).toEqual(["open", "half", "moved"])
  expect(await to.cli("MGET", ...keys)).toEqual(keys)
  await expect(from.cli("GET", "{moving}:0")).rejects.toMatchObject({ code: "MOVED" })
})

it("hands a slot to the replica when told to, and back", async () => {
  const old = await cluster.nodeForSlot(0)
  const next = await cluster.failover(0)
  expect(next.id).not.toBe(old.id)
  await cluster.settled()
  expect((await cluster.replicasForSlot(0)).map(({ id }) => id)).toEqual([old.id])
  expect((await cluster.failover(0)).id).toBe(old.id)
})

it("promotes the replica when a primary is killed, and takes it back", { timeout: 30_000 }, async () => {
  const killed = await cluster.killPrimary(SLOT_COUNT - 1)
  const next = await cluster.ownerOtherThan(SLOT_COUNT - 1, killed)
  expect(next.id).not.toBe(killed.id)
  await killed.restart()
  await cluster.settled()
  expect((await cluster.replicasForSlot(SLOT_COUNT - 1)).map(({ id }) => id)).toEqual([killed.id])
})
