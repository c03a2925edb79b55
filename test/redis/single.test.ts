import { redisStore } from "sluice/redis"
import { afterAll, beforeAll } from "vitest"
import { type RedisServer, startRedis } from "../support/redis/single.js"
import { LIBRARIES, openSingle } from "./clients.js"
import { describeConnected } from "./connected.js"
import { describeContractOn } from "./contract.js"
import { expectOnlyExpiringKeys } from "./expiry-scan.js"

let server: RedisServer

beforeAll(async () => {
  server = await startRedis()
})
afterAll(async () => {
  await expectOnlyExpiringKeys([server])
  await server.stop()
})

for (const library of LIBRARIES) {
  for (const resp of [2, 3] as const) {
    describeContractOn({
      name: `a single server through ${library}, RESP${resp}`,
      clients: async () => [await openSingle(library, server, resp)],
      store: ([opened], options) => redisStore(opened?.client as object, options),
    })
  }
}

describeConnected(
  () => server.url,
  () => [server],
)
