import { describe, expect, it } from "vitest"
import { compilePolicy } from "../policy.js"
import type { HoldOperations } from "./algorithm.js"
import { concurrency } from "./concurrency.js"
import { Key } from "./key.test-support.js"
import { expectTrace, micros } from "./trace.test-support.js"

const { extend: extendHold, isHeld, nameLast, release: releaseHold } = concurrency.holds as HoldOperations

const LIMIT = { algorithm: "concurrency", limit: 3, hold: "1s" } as const

/** Adds a hold with an id whose halves are `id`. */
function acquire(key: Key, id: number, at: number, cost = 1): boolean {
  const { allowed } = key.check(cost, micros(at))
  if (allowed) nameLast(key.cells, key.at, id, id)
  return allowed
}

const release = (key: Key, id: number, at: number) => releaseHold(key.cells, key.at, id, id, micros(at))

function extend(key: Key, id: number, at: number): boolean {
  const wasHeld = isHeld(key.cells, key.at, id, id, micros(at))
  extendHold(key.policy, key.cells, key.at, id, id, micros(at))
  return wasHeld
}

describe("concurrency", () => {
  it("ends holds one by one, exactly when each is over", () => {
    expectTrace(
      LIMIT,
      `at       ask       answer  remaining  retry    reset
       0        1         yes     2          0        1000
       300      2         yes     0          0        1000
       300      1         no      0          700      1000
       300      2         no      0          1000     1000
       300      4         no      0          never    1000
       999.999  1         no      0          0.001    300.001
       1000     1         yes     0          0        1000
       1299.999 1         no      0          0.001    700.001
       1300     2         yes     0          0        1000
       1400     refund=2  yes     2          0        600
       1400     0         yes     2          0        600`,
    )
  })

  it("keeps what is held when the limit changes", () => {
    expectTrace(
      LIMIT,
      `at   ask       answer  remaining  retry  reset
       0    2         yes     1          0      1000
       100  limit=1   no      0          900    900
       100  1         no      0          900    900
       200  limit=5   yes     3          0      800
       200  3         yes     0          0      1000`,
    )
  })

  it("gives a caller whose clock is behind no hold that ends before the others", () => {
    expectTrace(
      LIMIT,
      `at    ask  answer  remaining  retry  reset
       500   1    yes     2          0      1000
       200   1    yes     1          0      1300
       1499  0    yes     1          0      1
       1500  0    yes     3          0      0`,
    )
  })

  it("cuts holds from a clock more than a hold ahead to one hold from now", () => {
    expectTrace(
      LIMIT,
      `at     ask  answer  remaining  retry  reset
       9000   2    yes     1          0      1000
       0      2    no      1          1000   1000
       999    2    no      1          1      1
       1000   3    yes     0          0      1000`,
    )
  })

  it("releases any of its holds, and keeps the others and their order", () => {
    for (let released = 1; released <= 9; released++) {
      const key = new Key(compilePolicy({ ...LIMIT, limit: 9 }, "holds"))
      for (let id = 1; id <= 9; id++) expect(acquire(key, id, id * 10)).toBe(true)
      expect(acquire(key, 10, 95)).toBe(false)
      expect(release(key, released, 100)).toBe(true)
      expect(release(key, released, 100)).toBe(false)
      for (let id = 1; id <= 9; id++) {
        expect(isHeld(key.cells, key.at, id, id, micros(100))).toBe(id !== released)
        // Each ends at its own time.
        const left = 9 - id - (released > id ? 1 : 0)
        expect(key.used(micros(1000 + id * 10))).toBe(left)
      }
    }
  })

  it("moves an extended hold behind the others", () => {
    const key = new Key(compilePolicy(LIMIT, "holds"))
    for (const id of [1, 2, 3]) acquire(key, id, id)
    expect(extend(key, 1, 500)).toBe(true)
    expect(key.decide(1, micros(500)).retryAfter).toBe(502_000)
    expect(key.used(micros(1003))).toBe(1)
    expect(isHeld(key.cells, key.at, 1, 1, micros(1499.999))).toBe(true)
    expect(extend(key, 1, 1500)).toBe(false)
    expect(extend(key, 4, 1000)).toBe(false)
  })

  it("does not find a hold by half of its id", () => {
    const key = new Key(compilePolicy(LIMIT, "holds"))
    key.check(1, micros(0))
    nameLast(key.cells, key.at, 7, 8)
    expect(releaseHold(key.cells, key.at, 7, 7, micros(0))).toBe(false)
    expect(releaseHold(key.cells, key.at, 8, 8, micros(0))).toBe(false)
    expect(releaseHold(key.cells, key.at, 7, 8, micros(0))).toBe(true)
  })

  it("holds no more than the limit over any number of holds and releases", () => {
    const key = new Key(compilePolicy({ ...LIMIT, limit: 50 }, "holds"))
    const held = new Set<number>()
    let id = 0
    for (let step = 0; step < 5_000; step++) {
      const at = step / 100
      if ((step * 7919) % 3 > 0 && acquire(key, ++id, at)) held.add(id)
      const oldest = [...held][(step * 31) % held.size]
      if (oldest !== undefined && step % 2 === 0) {
        expect(release(key, oldest, at)).toBe(true)
        held.delete(oldest)
      }
      expect(key.used(micros(at))).toBe(held.size)
      expect(held.size).toBeLessThanOrEqual(50)
    }
  })
})
