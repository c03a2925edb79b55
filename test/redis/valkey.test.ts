// The store on Valkey: the contract, lost scripts, and traces on which stores once differed.
// `npm test` says so when there is no valkey-server. `npm run test:valkey` runs every test that needs Redis on Valkey.

import { redisStore } from "sluice/redis"
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest"
import { RawRedisStore } from "../../packages/sluice/src/stores/redis/redis-store.js"
import { play } from "../differential/play.js"
import { forgetful } from "../differential/record.js"
import { readTrace, traceFiles } from "../differential/trace.js"
import { afterThis } from "../support/after-this.js"
import { type RedisServer, startRedis } from "../support/redis/single.js"
import { toolPath } from "../support/tool.js"
import { LIBRARIES, openSingle } from "./clients.js"
import { describeContractOn, PATIENT } from "./contract.js"
import { expectOnlyExpiringKeys } from "./expiry-scan.js"
import { Counter, callsOf, forgetCalls } from "./one-server.js"

const AT = Date.UTC(2026, 0, 1) * 1000
let server: RedisServer

beforeAll(async () => {
  server = await startRedis({ program: toolPath("valkey-server") })
})
afterAll(async () => {
  await expectOnlyExpiringKeys([server])
  await server.stop()
})

/** A store that throws when it fails, so that no failure is answered locally. */
async function openStore(library: (typeof LIBRARIES)[number], options = {}): Promise<RawRedisStore> {
  const { client, close } = await openSingle(library, server)
  afterThis(close)
  const store = new RawRedisStore(client, { ...PATIENT, heartbeat: 0, ...options })
  afterThis(() => store.close())
  return store
}

it("is a Valkey, which causes no warning", async () => {
  expect(String(await server.cli("INFO", "server"))).toMatch(/^server_name:valkey\r$/m)
  const warn = vi.spyOn(process, "emitWarning")
  const counter = new Counter(await openStore("ioredis"), {
    algorithm: "gcra",
    limit: 2,
    window: "1h",
  })
  expect(await counter.check(AT)).toMatchObject({ allowed: true, remaining: 1 })
  expect(warn).not.toHaveBeenCalled()
})

describeContractOn({
  name: "a Valkey through ioredis, RESP3",
  clients: async () => [await openSingle("ioredis", server, 3)],
  store: ([opened], options) => redisStore(opened?.client as object, options),
})

describe.each(LIBRARIES)("a Valkey that lost the script, through %s", (library) => {
  it("is sent the source once, and the digest from then on", async () => {
    const counter = new Counter(await openStore(library), {
      algorithm: "fixed-window",
      limit: 100,
      window: "1h",
    })
    await server.cli("SCRIPT", "FLUSH")
    await forgetCalls(server)
    for (let i = 0; i < 5; i++) expect(await counter.check(AT)).toMatchObject({ remaining: 99 - i })
    expect(await callsOf(server, "eval")).toBe(1)
    expect(await callsOf(server, "evalsha")).toBe(5)
  })
})

it.each(traceFiles())("decides the trace %s as memory does", async (name) => {
  const store = await openStore("ioredis", { expiryBuffer: "1d" })
  const trace = readTrace(name)
  const expected = await play(forgetful(), { ...trace, manner: "each" }, name)
  expect(await play(store, trace, name)).toEqual(expected)
})
