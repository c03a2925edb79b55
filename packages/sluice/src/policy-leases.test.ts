import { describe, expect, it } from "vitest"
import { compilePolicy, overridePolicy, restorePolicy, savePolicy } from "./policy.js"

const bucket = { algorithm: "token-bucket", limit: 100, window: "1s" } as const

describe("a limit with leases", () => {
  it("has a burst that is smaller by what drains in the length of a lease", () => {
    const policy = compilePolicy(bucket, "", { length: "95ms" })
    expect(policy).toMatchObject({ lease: 95_000, capacity: 90, promisedCapacity: 100, window: 1e6 })
  })

  it("counts the units of a log for the length of a lease longer", () => {
    const policy = compilePolicy({ algorithm: "sliding-window-log", limit: 10, window: "1s" }, "", true)
    expect(policy).toMatchObject({
      lease: 10_000,
      window: 1_010_000,
      promisedWindow: 1_000_000,
      capacity: 10,
    })
  })

  it("keeps the numbers of windows and counters, whose leases end with the window or bucket", () => {
    for (const algorithm of ["fixed-window", "sliding-window-counter"] as const) {
      const policy = compilePolicy({ algorithm, limit: 10, window: "1h" }, "", true)
      expect(policy).toMatchObject({ lease: 100_000, capacity: 10, window: 3_600e6, promisedWindow: 3_600e6 })
    }
  })

  it("is refused if less than 90 % of it would be left, or if it queues", () => {
    expect(() => compilePolicy(bucket, "", { length: "101ms" })).toThrow(/burst of 89 of 100.*LEASE_INVALID/)
    const log = { algorithm: "sliding-window-log", limit: 10, window: "1s" } as const
    expect(() => compilePolicy(log, "", { length: "112ms" })).toThrow(/LEASE_INVALID/)
    const queue = { algorithm: "leaky-bucket", limit: 100, window: "1s", overflow: "queue" } as const
    expect(() => compilePolicy(queue, "", true)).toThrow(/its own place in the queue.*LEASE_INVALID/)
  })

  it("has the same numbers after it was saved", () => {
    const policy = compilePolicy(bucket, "", true)
    expect(restorePolicy(JSON.parse(JSON.stringify(savePolicy(policy))))).toMatchObject({
      lease: policy.lease,
      capacity: policy.capacity,
      promisedCapacity: policy.promisedCapacity,
    })
  })

  it("keeps its leases under another limit of a call, unless they would leave too little", () => {
    const policy = compilePolicy(bucket, "", { length: "100ms" })
    expect(overridePolicy(policy, 1_000, undefined)).toMatchObject({ lease: 100_000, capacity: 900 })
    expect(overridePolicy(policy, 5, undefined)).toMatchObject({ lease: 0, capacity: 5 })
  })
})
