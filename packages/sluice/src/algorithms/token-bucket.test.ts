import { describe, expect, it } from "vitest"
import type { LimitOptions } from "../policy.js"
import { expectTrace, Player } from "./trace.test-support.js"

function tokenBucket(limit: number, burst = limit, window = "1s"): LimitOptions {
  return { algorithm: "token-bucket", limit, window, burst }
}

describe("token-bucket", () => {
  it("starts full and gives one token back every tenth of a second at 10 per second", () => {
    expectTrace(
      tokenBucket(10, 20),
      `at        ask  answer  remaining  retry   reset
       0         20   yes     0          0       2000
       0         1    no      0          100     2000
       99.999    1    no      0          0.001   1900.001
       100       1    yes     0          0       2000
       100.001   1    no      0          99.999  1999.999
       350       2    yes     0          0       1950
       350       1    no      0          50      1950
       350       0    yes     0          50      1950
       350       21   no      0          never   1950
       2299.999  0    yes     19         0       0.001
       2300      0    yes     20         0       0`,
    )
  })

  it("holds no more than a burst smaller than the limit", () => {
    expectTrace(
      tokenBucket(10, 3),
      `at    ask  answer  remaining  retry  reset
       0     4    no      3          never  0
       0     3    yes     0          0      300
       100   1    yes     0          0      300
       250   1    yes     0          0      250
       9000  3    yes     0          0      300`,
    )
  })

  it("lets a limit of 1 pass once per window", () => {
    expectTrace(
      tokenBucket(1),
      `at       ask  answer  remaining  retry  reset
       0        1    yes     0          0      1000
       0        1    no      0          1000   1000
       999.999  1    no      0          0.001  0.001
       1000     1    yes     0          0      1000`,
    )
  })

  it("rounds no third of a second away", () => {
    // 3 per second: a token takes 333,333⅓ µs. The tick left over at 333.334 shortens the next wait.
    expectTrace(
      tokenBucket(3),
      `at       ask  answer  remaining  retry    reset
       0        3    yes     0          0        1000
       333.333  1    no      0          0.001    666.667
       333.334  1    yes     0          0        1000
       333.334  1    no      0          333.333  1000
       666.667  1    yes     0          0        1000
       1000     1    yes     0          0        1000`,
    )
  })

  it("passes 7 per second for 10,000 seconds without drift", () => {
    const player = new Player(tokenBucket(7))
    player.check(0, 7)
    let at = 0
    let passed = 0
    while (at < 10_000_000) {
      const { allowed, retryAfter } = player.check(at)
      if (allowed) passed++
      else at = Math.round(at * 1000 + retryAfter) / 1000
    }
    // The last one has only just come back.
    expect(passed).toBe(70_000 - 1)
    expect(at).toBe(10_000_000)
    expect(player.check(at).allowed).toBe(true)
  })

  it("does not drain until the clock has caught up when it is set back by up to a window", () => {
    expectTrace(
      tokenBucket(2),
      `at    ask  answer  remaining  retry  reset
       1000  1    yes     1          0      500
       500   1    yes     0          0      1500
       500   1    no      0          1000   1500
       0     1    no      0          1500   2000
       1499  1    no      0          1      501
       1500  1    yes     0          0      1000`,
    )
  })

  it("keeps the debt, but not the time, of a clock more than a window ahead", () => {
    expectTrace(
      tokenBucket(2),
      `at       ask  answer  remaining  retry  reset
       1000     2    yes     0          0      1000
       -0.001   1    no      0          500    1000
       499.998  1    no      0          0.001  500.001
       499.999  1    yes     0          0      1000`,
    )
  })

  it("keeps what is charged when the burst changes, but never more than fits", () => {
    expectTrace(
      tokenBucket(10, 20),
      `at   ask       answer  remaining  retry  reset
       0    20        yes     0          0      2000
       0    burst=30  yes     10         0      2000
       0    11        no      10         100    2000
       0    burst=5   yes     0          100    500
       0    1         no      0          100    500
       500  5         yes     0          0      500`,
    )
  })

  it("counts a charge beyond the burst in full until it has drained", () => {
    const player = new Player(tokenBucket(10, 20))
    player.charge(0, 50)
    expect(player.peek(0)).toMatchObject({
      remaining: 0,
      used: 50,
      retryAfter: 3_100_000,
      resetAfter: 5_000_000,
    })
    expect(player.check(3_099.999)).toMatchObject({ allowed: false, retryAfter: 1 })
    expect(player.check(3_100)).toMatchObject({ allowed: true, remaining: 0 })
    player.charge(3_100, 10)
    player.refund(3_100, 25)
    expect(player.peek(3_100)).toMatchObject({ remaining: 15, used: 5 })
  })

  it("counts a charge beyond the burst as a full bucket under another burst", () => {
    const player = new Player(tokenBucket(10, 20))
    player.charge(0, 50)
    player.change({ burst: 30 })
    expect(player.peek(0)).toMatchObject({ remaining: 0, used: 30, resetAfter: 3_000_000 })
    // A denied check under a lower limit keeps what was charged beyond the first burst.
    player.change({ limit: 5, burst: 5 })
    expect(player.check(0)).toMatchObject({ allowed: false, used: 5, retryAfter: 200_000 })
    player.change({ limit: 10, burst: 20 })
    expect(player.peek(0)).toMatchObject({ used: 50 })
  })

  it("keeps no more of a charge beyond the burst than it can count exactly", () => {
    const player = new Player(tokenBucket(1, 1, "1h"))
    player.charge(0, 2 ** 44)
    expect(player.peek(0)).toMatchObject({ remaining: 0, resetAfter: 2 ** 53 })
  })

  it("keeps what is charged when the limit changes", () => {
    expectTrace(
      { algorithm: "token-bucket", limit: 10, window: "1s" },
      `at  ask       answer  remaining  retry  reset
       0   4         yes     6          0      400
       0   limit=5   yes     1          0      800
       0   2         no      1          200    800
       0   limit=20  yes     16         0      200
       50  limit=20  yes     16         0      187.5`,
    )
  })

  it("keeps what has not drained when the window changes, and drains that at the new rate", () => {
    expectTrace(
      tokenBucket(10),
      `at   ask         answer  remaining  retry  reset
       0    10          yes     0          0      1000
       500  window=10s  yes     5          0      5000
       500  1           yes     4          0      6000
       500  window=1s   yes     4          0      600`,
    )
  })

  it("a denied check under a lower limit takes nothing off what was charged", () => {
    expectTrace(
      { algorithm: "token-bucket", limit: 10, window: "1s" },
      `at   ask       answer  remaining  retry  reset
       0    10        yes     0          0      1000
       0    limit=2   yes     0          500    1000
       0    1         no      0          500    1000
       0    limit=10  yes     0          100    1000
       100  1         no      0          80     980`,
    )
  })

  it("takes over a debt many times larger than the new bucket at once", () => {
    // A million million units, then 7 in 30 days: their product is far beyond 2^53.
    const player = new Player({ algorithm: "token-bucket", limit: 1e12, window: "1s" })
    player.check(0, 1e12)
    player.change({ limit: 7, window: "30d" })
    expect(player.peek(0)).toMatchObject({ remaining: 0, resetAfter: 30 * 86_400_000_000 })
  })

  it("gives back at most what is charged", () => {
    expectTrace(
      tokenBucket(10),
      `at  ask        answer  remaining  retry  reset
       0   10         yes     0          0      1000
       0   refund=3   yes     3          0      700
       50  refund=1   yes     4          0      550
       50  refund=99  yes     10         0      0
       50  10         yes     0          0      1000`,
    )
  })

  it("is bound to no time once everything is given back", () => {
    expectTrace(
      tokenBucket(10),
      `at    ask       answer  remaining  retry  reset
       1000  5         yes     5          0      500
       1000  refund=5  yes     10         0      0
       600   1         yes     9          0      100`,
    )
  })

  it("writes nothing when it refunds a debt that has drained", () => {
    const player = new Player(tokenBucket(3))
    player.check(0, 3)
    const before = player.key.cells.slice()
    player.refund(1000, 1)
    expect(player.key.cells).toEqual(before)
  })

  it("stays exact at the largest policy it takes", () => {
    // 2^53 ticks: 2^20 tokens of 2^33 µs each. One token less one µs has come back at 2^33 - 1.
    const player = new Player({ algorithm: "token-bucket", limit: 1, window: 2 ** 33 / 1000, burst: 2 ** 20 })
    player.check(0, 2 ** 20)
    expect(player.peek(0)).toMatchObject({ remaining: 0, resetAfter: 2 ** 53 })
    expect(player.check((2 ** 33 - 1) / 1000)).toMatchObject({
      allowed: false,
      retryAfter: 1,
      resetAfter: 2 ** 53 - 2 ** 33 + 1,
    })
    expect(player.check(2 ** 33 / 1000)).toMatchObject({ allowed: true, resetAfter: 2 ** 53 })
  })
})
