// Checks whether the store works, by making checks with a random key that it removes afterwards.

import { randomUUID } from "node:crypto"
import { createLimiter } from "sluice"
import { connectRedis, type StoreFailureEvent } from "sluice/redis"
import { type Finding, findings } from "./finding.js"

const TIMEOUT_MS = 3_000
const ALGORITHMS = ["token-bucket", "sliding-window-log"] as const

/** Failures that a single server repeats however often the check is retried. */
const FINAL: ReadonlySet<string | undefined> = new Set(["no-auth", "no-permission", "readonly"])

const ACL_RULE =
  "~s1:* +evalsha +eval +unlink +time +mget +set +exists +pexpire +pttl +del +zadd +zcard +zcount +zincrby +zrange +zrangebyscore +zrank +zrem +zremrangebyscore +zscore +info"

export async function storeFinding(url: string): Promise<Finding> {
  const { fine, problem } = findings("redis store")
  let last: StoreFailureEvent | undefined
  const store = await connectRedis(url, {
    heartbeat: 0,
    onFailure: (event) => {
      // An open breaker hides the failure that opened it, so keep that one.
      if (event.failure.kind !== "breaker-open") last = event
    },
  })
  try {
    for (const algorithm of ALGORITHMS) {
      const limiter = createLimiter({ algorithm, limit: 2, window: "10s", store, prefix: "sluice-doctor" })
      const key = randomUUID()
      const isDecided = async () => (await limiter.check(key)).degraded === undefined
      const isFinal = () => isOneServer(url) && FINAL.has(last?.failure.kind)
      if (!(await works(isDecided, isFinal)))
        return problem(`a test check failed: ${last?.failure.message ?? "no answer"}`, fixFor(last))
      await limiter.reset(key)
    }
    return fine("test checks were decided and counted")
  } finally {
    await store.close()
  }
}

/** Whether the URL names a single server, without Sentinel, Cluster or a ring. */
export function isOneServer(url: string): boolean {
  return /^rediss?:\/\//.test(url)
}

/** Retries the probe, because the first checks may run before the client is connected. */
async function works(probe: () => Promise<boolean>, isFinal: () => boolean): Promise<boolean> {
  const deadline = performance.now() + TIMEOUT_MS
  for (;;) {
    if (await probe()) return true
    if (isFinal() || performance.now() > deadline) return false
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
}

function fixFor(event: StoreFailureEvent | undefined): string {
  switch (event?.failure.kind) {
    case "no-permission":
      return `Give the Redis user the permissions that the store needs: ACL SETUSER <user> ${ACL_RULE}`
    case "no-auth":
      return "Put the correct user and password into the URL: redis://user:password@host:6379."
    case "out-of-memory":
      return "Redis is out of memory. Raise maxmemory, or use a separate Redis for the store."
    case "readonly":
      return "This is a replica. Use the address of its primary, or use Sentinel."
    case "not-writable":
      return "Redis refuses writes because a background save failed or too few replicas are connected. See its log."
    default:
      return "docs/redis.md explains each kind of failure."
  }
}
