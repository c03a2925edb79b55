import { describe, expect, it } from "vitest"
import type { LimitOptions } from "../policy.js"
import { expectTrace, Player } from "./trace.test-support.js"

function slidingLog(limit: number, window = "1s"): LimitOptions {
  return { algorithm: "sliding-window-log", limit, window }
}

describe("sliding-window-log", () => {
  it("frees each unit exactly one window after it was charged", () => {
    expectTrace(
      slidingLog(3),
      `at        ask  answer  remaining  retry    reset
       0         1    yes     2          0        1000
       400       1    yes     1          0        1000
       400       1    yes     0          0        1000
       500       1    no      0          500      900
       500       2    no      0          900      900
       500       4    no      0          never    900
       999.999   1    no      0          0.001    400.001
       1000      1    yes     0          0        1000
       1000.001  1    no      0          399.999  999.999
       1400      2    yes     0          0        1000
       1999.999  1    no      0          0.001    400.001
       2000      0    yes     1          0        400
       2399.999  0    yes     1          0        0.001
       2400      0    yes     3          0        0`,
    )
  })

  it("counts requests in the same microsecond one by one", () => {
    const player = new Player(slidingLog(5))
    const allowed = Array.from({ length: 8 }, () => player.check(123.456).allowed)
    expect(allowed).toEqual([true, true, true, true, true, false, false, false])
  })

  it("waits for as many of the oldest units as the cost needs", () => {
    expectTrace(
      slidingLog(100),
      `at  ask  answer  remaining  retry  reset
       0   60   yes     40         0      1000
       10  40   yes     0          0      1000
       20  1    no      0          980    990
       20  60   no      0          980    990
       20  61   no      0          990    990
       20  101  no      0          never  990`,
    )
  })

  it("lets a limit of 1 pass once per window", () => {
    expectTrace(
      slidingLog(1),
      `at       ask  answer  remaining  retry    reset
       0        1    yes     0          0        1000
       0        1    no      0          1000     1000
       999.999  1    no      0          0.001    0.001
       1000     1    yes     0          0        1000
       1000.001 1    no      0          999.999  999.999`,
    )
  })

  it("charges at the time of its newest entry when the clock is set back by up to a window", () => {
    expectTrace(
      slidingLog(2),
      `at    ask  answer  remaining  retry  reset
       1000  1    yes     1          0      1000
       500   1    yes     0          0      1500
       500   1    no      0          1500   1500
       0     1    no      0          2000   2000
       1999  1    no      0          1      1
       2000  2    yes     0          0      1000`,
    )
  })

  it("counts everything as charged now when the clock was more than a window ahead", () => {
    expectTrace(
      slidingLog(2),
      `at       ask  answer  remaining  retry  reset
       1000     1    yes     1          0      1000
       1500     1    yes     0          0      1000
       499.999  1    no      0          1000   1000
       1499.998 1    no      0          0.001  0.001
       1499.999 1    yes     1          0      1000`,
    )
  })

  it("keeps what is charged when the limit changes", () => {
    expectTrace(
      slidingLog(5),
      `at    ask       answer  remaining  retry  reset
       0     2         yes     3          0      1000
       200   2         yes     1          0      1000
       300   limit=3   no      0          700    900
       300   1         no      0          700    900
       300   limit=10  yes     6          0      900
       1000  limit=3   yes     1          0      200`,
    )
  })

  it("counts by the window of the question when it changes", () => {
    expectTrace(
      slidingLog(3, "10s"),
      `at     ask         answer  remaining  retry  reset
       0      1           yes     2          0      10000
       9000   1           yes     1          0      10000
       9500   window=1s   yes     2          0      500
       9500   window=20s  yes     1          0      19500
       9500   1           yes     0          0      20000
       10000  1           no      0          10000  19500`,
    )
  })

  it("gives back the newest units first, and at most what is charged", () => {
    expectTrace(
      slidingLog(3),
      `at   ask       answer  remaining  retry  reset
       0    1         yes     2          0      1000
       500  2         yes     0          0      1000
       600  refund=1  yes     1          0      900
       600  refund=1  yes     2          0      400
       600  refund=5  yes     3          0      0
       600  3         yes     0          0      1000`,
    )
  })

  it("writes nothing when it refunds what has left the window", () => {
    const player = new Player(slidingLog(3))
    player.check(0, 3)
    const before = player.key.cells.slice()
    player.refund(1000, 1)
    expect(player.key.cells).toEqual(before)
  })

  it("keeps one entry for a cost of any size", () => {
    const player = new Player(slidingLog(1_000_000))
    player.check(0, 400_000)
    player.check(1, 600_000)
    expect(player.key.cells.length).toBeLessThan(20)
    expect(player.check(2)).toMatchObject({ allowed: false, retryAfter: 998_000 })
  })

  it("stays right while its ring grows, turns and empties", () => {
    const player = new Player(slidingLog(1_000))
    let passed = 0
    // One request every 250 µs for ten windows: four times the limit, of which exactly the limit passes in each.
    for (let i = 0; i < 40_000; i++) passed += player.check(i * 0.25).allowed ? 1 : 0
    expect(passed).toBe(10_000)
    expect(player.peek(10_249.75)).toMatchObject({ remaining: 1_000, resetAfter: 0 })
  })

  it("passes 7 per second for 10,000 seconds without drift", () => {
    const player = new Player(slidingLog(7))
    let at = 0
    let passed = 0
    while (at < 10_000_000) {
      const { allowed, retryAfter } = player.check(at)
      if (allowed) passed++
      else at = Math.round(at * 1000 + retryAfter) / 1000
    }
    expect(passed).toBe(70_000)
    expect(at).toBe(10_000_000)
  })
})
