import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { RawRedisStore } from "../../packages/sluice/src/stores/redis/redis-store.js"
import { type OpenClient, openSingle } from "../redis/clients.js"
import { PATIENT } from "../redis/contract.js"
import { type RedisServer, startRedis } from "../support/redis/single.js"
import { play } from "./play.js"
import { forgetful } from "./record.js"
import { readTrace, traceFiles } from "./trace.js"

let server: RedisServer
let opened: OpenClient
let store: RawRedisStore

beforeAll(async () => {
  server = await startRedis()
  opened = await openSingle("ioredis", server)
  store = new RawRedisStore(opened.client, { ...PATIENT, expiryBuffer: "1d" })
})
afterAll(async () => {
  await store.close()
  await opened.close()
  await server.stop()
})

describe("traces on which memory and Redis once differed", () => {
  it.each(traceFiles())("%s", async (name) => {
    const trace = readTrace(name)
    const expected = await play(forgetful(), { ...trace, manner: "each" }, name)
    expect(await play(store, trace, name)).toEqual(expected)
  })
})
