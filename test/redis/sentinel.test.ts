import { redisStore } from "sluice/redis"
import { afterAll, beforeAll } from "vitest"
import { type SentinelTopology, startSentinel } from "../support/redis/sentinel.js"
import { LIBRARIES, openSentinel } from "./clients.js"
import { describeConnected } from "./connected.js"
import { describeContractOn } from "./contract.js"
import { expectOnlyExpiringKeys } from "./expiry-scan.js"
import { describeHolders } from "./holders.js"

let topology: SentinelTopology

beforeAll(async () => {
  topology = await startSentinel()
}, 60_000)
afterAll(async () => {
  await expectOnlyExpiringKeys(topology.servers)
  await topology.stop()
})

for (const library of LIBRARIES) {
  describeContractOn({
    name: `a primary found by Sentinels, through ${library}`,
    clients: async () => [await openSentinel(library, topology)],
    store: ([opened], options) => redisStore(opened?.client as object, options),
  })
}

describeConnected(
  () => topology.url,
  () => topology.servers,
)

describeHolders("a primary found by Sentinels", () => topology.url)
