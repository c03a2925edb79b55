import { afterAll, beforeAll, expect, it } from "vitest"
import { sandboxRoot } from "../sandbox.js"
import { type SentinelTopology, startSentinel } from "./sentinel.js"

let topology: SentinelTopology

beforeAll(async () => {
  topology = await startSentinel()
}, 30_000)

afterAll(async () => {
  await topology.stop()
  expect([...topology.servers, ...topology.sentinels].filter((server) => server.running)).toEqual([])
  expect(sandboxRoot()).toBeUndefined()
})

it("has one primary, two replicas in sync and three Sentinels", async () => {
  const primary = await topology.primary()
  expect(await topology.replicas()).toHaveLength(2)
  expect(topology.sentinels).toHaveLength(3)
  const connection = await primary.connect()
  await connection.command("SET", "shared", "yes")
  expect(await connection.command("WAIT", 2, 2_000)).toBe(2)
  connection.close()
  for (const replica of await topology.replicas()) expect(await replica.cli("GET", "shared")).toBe("yes")
})

it("moves the primary when told to, and the old one follows", async () => {
  const old = await topology.primary()
  const next = await topology.failover()
  expect(next).not.toBe(old)
  expect(await next.cli("SET", "after", "failover")).toBe("OK")
  await topology.settled()
  await expect(old.cli("SET", "after", "x")).rejects.toMatchObject({ code: "READONLY" })
})

it("promotes a replica when the primary is killed, and takes it back as a replica", {
  timeout: 30_000,
}, async () => {
  const killed = await topology.killPrimary()
  expect(killed.running).toBe(false)
  const next = await topology.primaryOtherThan(killed)
  expect(await next.cli("GET", "after")).toBe("failover")
  await killed.restart()
  await topology.settled()
  expect(await killed.cli("GET", "after")).toBe("failover")
})
