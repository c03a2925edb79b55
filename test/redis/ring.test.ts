import { redisStore, shardedStore } from "sluice/redis"
import { afterAll, beforeAll } from "vitest"
import { type RedisRing, startRing } from "../support/redis/ring.js"
import { LIBRARIES, openSingle } from "./clients.js"
import { describeConnected } from "./connected.js"
import { describeContractOn } from "./contract.js"
import { expectOnlyExpiringKeys } from "./expiry-scan.js"
import { describeHolders } from "./holders.js"

let ring: RedisRing

beforeAll(async () => {
  ring = await startRing(3)
})
afterAll(async () => {
  await expectOnlyExpiringKeys(ring.servers)
  await ring.stop()
})

for (const library of LIBRARIES) {
  describeContractOn({
    name: `a ring of three through ${library}`,
    clients: () => Promise.all(ring.servers.map((server) => openSingle(library, server))),
    store: (opened, options) => shardedStore(opened.map(({ client }) => redisStore(client, options))),
  })
}

describeConnected(
  () => ring.url,
  () => ring.servers,
)

describeHolders("a ring", () => ring.url)
