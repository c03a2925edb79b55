// The store contract on Redis as a Worker. Workers do not share sockets between requests, so one request makes the client and
// uses it.

import { redisStore } from "sluice/redis"
import { keepsContract, PATIENT, runChecks } from "./checks.mjs"

// biome-ignore lint/style/noDefaultExport: workerd looks for the default export.
export default {
  async fetch(_request, { REDIS_URL: url }) {
    const checks = {
      "Redis with ioredis": async () => {
        const { Redis } = await import("ioredis")
        const client = new Redis(url)
        await keepsContract(() => redisStore(client, PATIENT))
        client.disconnect()
      },

      "Redis with node-redis": async () => {
        const { createClient } = await import("redis")
        const client = createClient({ url })
        await client.connect()
        await keepsContract(() => redisStore(client, PATIENT))
        client.destroy()
      },
    }
    return Response.json(await runChecks(checks))
  },
}
