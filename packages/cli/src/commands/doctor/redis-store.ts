// Whether the store really works: by using it, on a key of its own that is gone afterwards.

import { randomUUID } from "node:crypto"
import { createLimiter } from "sluice"
import { connectRedis, type StoreFailureEvent } from "sluice/redis"
import { type Finding, findings } from "./finding.js"

const WITHIN_MS = 3_000
const ALGORITHMS = ["token-bucket", "sliding-window-log"] as const

/** What a server refuses whoever asks again; another of several servers may be asked next. */
const FINAL: ReadonlySet<string | undefined> = new Set(["no-auth", "no-permission", "readonly"])

const ACL_RULE =
  "~s1:* +evalsha +eval +unlink +time +mget +set +exists +pexpire +pttl +del +zadd +zcard +zrange +zrangebyscore +zrank +zrem +zremrangebyscore +info"

export async function storeFinding(url: string): Promise<Finding> {
  const { fine, problem } = findings("redis store")
  let last: StoreFailureEvent | undefined
  const store = await connectRedis(url, {
    heartbeat: 0,
    onFailure: (event) => {
      // A breaker that is open only repeats what has opened it.
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
        return problem(`a check fails: ${last?.failure.message ?? "no answer"}`, fixFor(last))
      await limiter.reset(key)
    }
    return fine("checks are decided and counted")
  } finally {
    await store.close()
  }
}

/** Whether it names one server, which no other can take the place of. */
export function isOneServer(url: string): boolean {
  return /^rediss?:\/\//.test(url)
}

/** The first checks may come before the client is connected. What Redis itself refuses it refuses again. */
async function works(probe: () => Promise<boolean>, isFinal: () => boolean): Promise<boolean> {
  const deadline = performance.now() + WITHIN_MS
  for (;;) {
    if (await probe()) return true
    if (isFinal() || performance.now() > deadline) return false
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
}

function fixFor(event: StoreFailureEvent | undefined): string {
  switch (event?.failure.kind) {
    case "no-permission":
      return `Give its user what the store needs: ACL SETUSER <user> ${ACL_RULE}`
    case "no-auth":
      return "Put the right user and password into the URL: redis://user:password@host:6379."
    case "out-of-memory":
      return "Its memory is full: raise maxmemory, or give the store a Redis of its own."
    case "readonly":
      return "This is a replica: name its primary, or let Sentinel find it."
    case "not-writable":
      return "It refuses writes until its last save, or its replicas, are in order: see its log."
    default:
      return "docs/redis.md says what each failure means."
  }
}
