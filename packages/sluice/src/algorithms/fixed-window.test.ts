import { describe, expect, it } from "vitest"
import type { LimitOptions } from "../policy.js"
import { expectTrace, Player } from "./trace.test-support.js"

function fixedWindow(limit: number, window = "1s"): LimitOptions {
  return { algorithm: "fixed-window", limit, window }
}

function firstRequest(limit: number, window = "1s"): LimitOptions {
  return { ...fixedWindow(limit, window), anchor: "first-request" }
}

describe("fixed-window", () => {
  it("counts up to the limit and starts again exactly at the boundary", () => {
    expectTrace(
      fixedWindow(3),
      `at        ask  answer  remaining  retry    reset
       0         1    yes     2          0        1000
       0         1    yes     1          0        1000
       250       2    no      1          750      750
       250       0    yes     1          0        750
       999.999   1    yes     0          0        0.001
       999.999   1    no      0          0.001    0.001
       1000      3    yes     0          0        1000
       1000.001  1    no      0          999.999  999.999
       2000      0    yes     3          0        0`,
    )
  })

  it("lets twice the limit through around a boundary, its known weakness", () => {
    expectTrace(
      fixedWindow(100),
      `at        ask  answer  remaining  retry  reset
       999.999   100  yes     0          0      0.001
       1000      100  yes     0          0      1000`,
    )
  })

  it("lets a limit of 1 pass once per window, and not twice at a boundary", () => {
    expectTrace(
      fixedWindow(1),
      `at        ask  answer  remaining  retry    reset
       0         1    yes     0          0        1000
       0.001     1    no      0          999.999  999.999
       999.999   1    no      0          0.001    0.001
       1000      1    yes     0          0        1000
       1000      1    no      0          1000     1000`,
    )
  })

  it("never allows a cost above the limit, and charges nothing for it", () => {
    expectTrace(
      fixedWindow(3),
      `at   ask  answer  remaining  retry  reset
       0    4    no      3          never  0
       0    3    yes     0          0      1000
       10   4    no      0          never  990`,
    )
  })

  it("stays in the later window when the clock is set back by up to a window", () => {
    expectTrace(
      fixedWindow(2),
      `at    ask  answer  remaining  retry  reset
       1000  1    yes     1          0      1000
       500   1    yes     0          0      1500
       500   1    no      0          1500   1500
       0     1    no      0          2000   2000
       1999  1    no      0          1      1
       2000  1    yes     1          0      1000`,
    )
  })

  it("keeps the count, but not the window, of a clock more than a window ahead", () => {
    expectTrace(
      fixedWindow(2),
      `at      ask  answer  remaining  retry  reset
       5000    2    yes     0          0      1000
       400     1    no      0          600    600
       999.999 1    no      0          0.001  0.001
       1000    1    yes     1          0      1000`,
    )
  })

  it("keeps the count when the limit changes", () => {
    expectTrace(
      fixedWindow(5),
      `at    ask       answer  remaining  retry  reset
       0     4         yes     1          0      1000
       100   limit=3   no      0          900    900
       100   1         no      0          900    900
       100   limit=10  yes     6          0      900
       100   6         yes     0          0      900
       1000  0         yes     10         0      0`,
    )
  })

  it("moves the count into a shorter window and ends with it", () => {
    expectTrace(
      fixedWindow(3, "10s"),
      `at        ask        answer  remaining  retry  reset
       0         3          yes     0          0      10000
       4500      window=1s  yes     0          500    500
       4500      1          no      0          500    500
       4999.999  1          no      0          0.001  0.001
       5000      1          yes     2          0      1000`,
    )
  })

  it("moves the count into a longer window and ends with it", () => {
    expectTrace(
      fixedWindow(3),
      `at        ask         answer  remaining  retry  reset
       0         3           yes     0          0      1000
       500       window=10s  yes     0          9500   9500
       500       1           no      0          9500   9500
       9999.999  1           no      0          0.001  0.001
       10000     1           yes     2          0      10000`,
    )
  })

  it("gives back at most what is charged", () => {
    expectTrace(
      fixedWindow(3),
      `at   ask       answer  remaining  retry  reset
       0    3         yes     0          0      1000
       100  refund=2  yes     2          0      900
       100  refund=9  yes     3          0      0
       100  3         yes     0          0      900`,
    )
  })

  it("writes nothing when it refunds a window that has ended", () => {
    const player = new Player(fixedWindow(3))
    player.check(0, 3)
    const before = player.key.cells.slice()
    player.refund(1000, 1)
    expect(player.key.cells).toEqual(before)
  })

  it("passes 7 per second in each of 10,000 seconds", () => {
    const player = new Player(fixedWindow(7))
    let passed = 0
    for (let second = 0; second < 10_000; second++) {
      for (const ms of [0, 333.333, 999.999])
        for (let i = 0; i < 3; i++) passed += player.check(second * 1000 + ms).allowed ? 1 : 0
    }
    expect(passed).toBe(70_000)
  })
})

describe("fixed-window from the first request", () => {
  it("starts its window at the first charged request", () => {
    expectTrace(
      firstRequest(2),
      `at        ask  answer  remaining  retry  reset
       300       1    yes     1          0      1000
       1299.999  1    yes     0          0      0.001
       1299.999  1    no      0          0.001  0.001
       1300      1    yes     1          0      1000
       1300.001  2    no      1          999.999 999.999`,
    )
  })

  it("starts no window for a peek or a denial", () => {
    expectTrace(
      firstRequest(2),
      `at        ask  answer  remaining  retry  reset
       5000      0    yes     2          0      0
       5200      3    no      2          never  0
       5400      1    yes     1          0      1000
       6399.999  2    no      1          0.001  0.001
       6400      2    yes     0          0      1000`,
    )
  })

  it("keeps its window when the clock is set back by up to a window, and only its count when by more", () => {
    expectTrace(
      firstRequest(2),
      `at       ask  answer  remaining  retry  reset
       1000     2    yes     0          0      1000
       400      1    no      0          1600   1600
       0        1    no      0          2000   2000
       -0.001   1    no      0          1000   1000
       999.998  1    no      0          0.001  0.001
       999.999  1    yes     1          0      1000`,
    )
  })

  it("keeps its start in another window that it still lies in, and else starts again", () => {
    expectTrace(
      firstRequest(2, "10s"),
      `at    ask         answer  remaining  retry  reset
       0     2           yes     0          0      10000
       300   window=1s   yes     0          700    700
       300   window=10s  yes     0          9700   9700
       4500  window=1s   yes     0          1000   1000
       4500  1           no      0          1000   1000
       5500  1           yes     1          0      1000`,
    )
  })

  it("forgets its window when everything is given back", () => {
    expectTrace(
      firstRequest(2),
      `at    ask       answer  remaining  retry  reset
       0     1         yes     1          0      1000
       400   refund=1  yes     2          0      0
       700   1         yes     1          0      1000
       1699  0         yes     1          0      1`,
    )
  })

  it("changes from a day of 24 hours to a day of the calendar and back, and keeps what was charged", () => {
    // Midnight in Kathmandu is 18:15 UTC: 65,700,000 ms after the start of the trace.
    const player = new Player(fixedWindow(3, "1d"))
    player.check(60_000, 2)
    player.change({ window: "day", timeZone: "Asia/Kathmandu" })
    expect(player.check(120_000, 2)).toMatchObject({
      allowed: false,
      remaining: 1,
      retryAfter: 65_580_000_000,
    })
    expect(player.check(120_000, 1)).toMatchObject({ allowed: true, resetAfter: 65_580_000_000 })
    expect(player.peek(65_699_999.999)).toMatchObject({ remaining: 0, resetAfter: 1 })
    expect(player.check(65_700_000, 1)).toMatchObject({ remaining: 2, resetAfter: 86_400_000_000 })
    const plain = new Player(fixedWindow(3, "1d"))
    player.key.policy = plain.key.policy
    expect(player.peek(65_800_000)).toMatchObject({ remaining: 2, resetAfter: 86_300_000_000 })
  })
})
