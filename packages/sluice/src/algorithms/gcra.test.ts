import { describe, it } from "vitest"
import type { LimitOptions } from "../policy.js"
import { expectTrace } from "./trace.test-support.js"

function gcra(limit: number, maxBurst?: number): LimitOptions {
  return { algorithm: "gcra", limit, window: "1s", ...(maxBurst === undefined ? {} : { maxBurst }) }
}

describe("gcra", () => {
  it("lets max_burst + 1 pass at once, then one per interval", () => {
    expectTrace(
      gcra(10, 4),
      `at      ask  answer  remaining  retry  reset
       0       1    yes     4          0      100
       0       4    yes     0          0      500
       0       1    no      0          100    500
       99.999  1    no      0          0.001  400.001
       100     1    yes     0          0      500
       300     3    no      2          100    300
       300     6    no      2          never  300
       600     0    yes     5          0      0`,
    )
  })

  it("lets exactly one pass per interval without a burst", () => {
    expectTrace(
      gcra(10, 0),
      `at       ask  answer  remaining  retry   reset
       0        1    yes     0          0       100
       0        1    no      0          100     100
       99.999   1    no      0          0.001   0.001
       100      1    yes     0          0       100
       100.001  1    no      0          99.999  99.999
       100.001  2    no      0          never   99.999`,
    )
  })

  it("allows as much at once as in a window when no burst is given", () => {
    expectTrace(
      gcra(3),
      `at  ask  answer  remaining  retry    reset
       0   3    yes     0          0        1000
       0   1    no      0          333.334  1000`,
    )
  })

  it("keeps what is charged when the burst or the limit changes", () => {
    expectTrace(
      gcra(10, 9),
      `at  ask         answer  remaining  retry  reset
       0   8           yes     2          0      800
       0   maxBurst=4  yes     0          100    500
       0   maxBurst=19 yes     12         0      800
       0   limit=5     yes     12         0      1600
       0   refund=3    yes     15         0      1000`,
    )
  })
})
