import { redisRules } from "sluice/rules"
import { describe, expect, it } from "vitest"
import { expectNoUnhandledRejections } from "../chaos/rejections.js"
import { LIBRARIES, openCluster, openSentinel } from "../redis/clients.js"
import { eventually } from "../support/eventually.js"
import { startCluster } from "../support/redis/cluster.js"
import { startSentinel } from "../support/redis/sentinel.js"
import { limitOf, setWith } from "./rule-sets.js"

expectNoUnhandledRejections()
const by = "alice"
const initial = setWith(5)

describe.each(LIBRARIES)("on other topologies, by %s", (library) => {
  it("a Cluster is followed and saved to", { timeout: 60_000 }, async () => {
    const cluster = await startCluster()
    const clients = [await openCluster(library, cluster), await openCluster(library, cluster)]
    try {
      const options = { initial, poll: "1h" }
      const [one, two] = await Promise.all(clients.map(({ client }) => redisRules(client, options)))
      await one?.save(setWith(6), { by })
      // The announcement crosses the nodes; without one, an hour would pass.
      await eventually(() => two !== undefined && limitOf(two.current) === 6)
      expect(await two?.save(setWith(7), { by })).toMatchObject({ revision: 3 })
      await Promise.all([one?.close(), two?.close()])
    } finally {
      for (const client of clients) await client.close()
      await cluster.stop()
    }
  })

  it("a Sentinel group is followed and saved to", { timeout: 60_000 }, async () => {
    const sentinel = await startSentinel()
    const clients = [await openSentinel(library, sentinel), await openSentinel(library, sentinel)]
    try {
      const [one, two] = await Promise.all(clients.map(({ client }) => redisRules(client, { initial })))
      await one?.save(setWith(6), { by })
      await eventually(() => two !== undefined && limitOf(two.current) === 6)
      await Promise.all([one?.close(), two?.close()])
    } finally {
      for (const client of clients) await client.close()
      await sentinel.stop()
    }
  })
})
