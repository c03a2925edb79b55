import { redisStore } from "sluice/redis"
import { afterAll, beforeAll, describe } from "vitest"
import { RawRedisStore } from "../../packages/sluice/src/stores/redis/redis-store.js"
import { type RedisCluster, startCluster } from "../support/redis/cluster.js"
import { LIBRARIES, type OpenClient, openCluster } from "./clients.js"
import { describeConnected } from "./connected.js"
import { describeContractOn, PATIENT } from "./contract.js"
import { describeCrossSlot } from "./cross-slot.js"
import { expectOnlyExpiringKeys } from "./expiry-scan.js"
import { describeHolders } from "./holders.js"

let cluster: RedisCluster

beforeAll(async () => {
  cluster = await startCluster()
}, 60_000)
afterAll(async () => {
  await expectOnlyExpiringKeys(cluster.nodes)
  await cluster.stop()
})

for (const library of LIBRARIES) {
  describeContractOn({
    name: `a Cluster through ${library}`,
    clients: async () => [await openCluster(library, cluster)],
    store: ([opened], options) => redisStore(opened?.client as object, options),
  })
}

// Auto-pipelining groups the commands of a tick by slot, and must take the slot from the key, not from the script's digest.
describeContractOn({
  name: "a Cluster through ioredis with auto-pipelining",
  clients: async () => [await openCluster("ioredis", cluster, { enableAutoPipelining: true })],
  store: ([opened], options) => redisStore(opened?.client as object, options),
})

describeConnected(
  () => cluster.url,
  () => cluster.nodes,
)

describeHolders("a Cluster", () => cluster.url)

describe.each(LIBRARIES)("checks over several slots, through %s", (library) => {
  let opened: OpenClient
  let store: RawRedisStore
  beforeAll(async () => {
    opened = await openCluster(library, cluster)
    store = new RawRedisStore(opened.client, { ...PATIENT, heartbeat: 0 })
  })
  afterAll(async () => {
    await store.close()
    await opened.close()
  })
  describeCrossSlot(
    () => store,
    () => cluster.nodes,
  )
})
