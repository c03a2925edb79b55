import { redisStore } from "sluice/redis"
import { describe, expect, it } from "vitest"
import { LIBRARIES, openIoRedis, openSingle } from "../redis/clients.js"
import { eventually } from "../support/eventually.js"
import { openBed } from "./bed.js"
import { expectNoUnhandledRejections } from "./rejections.js"
import { faultNamed } from "./single-faults.js"
import { DEADLINE, isDegraded, loaded } from "./subject.js"

expectNoUnhandledRejections()

const faults = [
  "killed, and everything lost",
  "connection reset",
  "frozen (SIGSTOP)",
  "slow (500 ms)",
  "READONLY",
]

describe.concurrent.each(LIBRARIES)("a client of the user's own, %s, gets through", (library) => {
  it.for(faults)("%s", { timeout: 30_000 }, async (name, { onTestFinished }) => {
    const fault = faultNamed(name)
    const bed = await openBed(fault.bed)
    onTestFinished(bed.stop)
    const address = fault.proxied ? bed.proxy : bed.redis
    // The settings that docs/redis.md asks for: no queue, and no repeated commands.
    const opened =
      library === "ioredis"
        ? await openIoRedis(address, { enableOfflineQueue: false, autoResendUnfulfilledCommands: false })
        : await openSingle(library, address)
    onTestFinished(opened.close)
    const subject = await loaded((onFailure) => redisStore(opened.client, { deadline: DEADLINE, onFailure }))
    onTestFinished(subject.close)
    await subject.shared()
    await fault.strike(bed)
    const struckAt = performance.now()
    await eventually(() => subject.store.breakers.includes("open"), { every: 1, what: "the breaker opens" })
    await subject.degraded()
    const during = subject.load.since(struckAt)
    await fault.mend(bed)
    await subject.shared()
    await subject.sound()
    expect(during.filter((sample) => !isDegraded(sample))).toEqual([])
  })
})
