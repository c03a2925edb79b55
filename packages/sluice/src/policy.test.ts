import { describe, expect, it } from "vitest"
import type { AlgorithmName, Policy } from "./algorithms/algorithm.js"
import { blockPolicy } from "./algorithms/block.js"
import type { ErrorCode } from "./errors.js"
import { SluiceError } from "./errors.js"
import type { LimitOptions } from "./policy.js"
import {
  algorithms,
  compilePolicy,
  defaultName,
  overridePolicy,
  restorePolicy,
  savePolicy,
} from "./policy.js"

const names = Object.keys(algorithms) as AlgorithmName[]
const tenYears = "3652.5d"

describe("compilePolicy", () => {
  it("is a sliding window counter of one bucket by default", () => {
    expect(compilePolicy({ limit: 100, window: "1m" }, "")).toMatchObject({
      algorithm: algorithms["sliding-window-counter"],
      limit: 100,
      capacity: 100,
      window: 60_000_000,
      windowMs: 60_000,
      buckets: 1,
      bucketSize: 60_000_000,
      anchored: false,
      queue: false,
    })
  })

  it("takes windows of the calendar, with fixed-window by default and UTC unless another zone is named", () => {
    const policy = compilePolicy({ limit: 5, window: "month" }, "")
    expect(policy).toMatchObject({
      algorithm: algorithms["fixed-window"],
      window: 31 * 86_400_000_000,
      calendar: { unit: "month", timeZone: "UTC" },
    })
    expect(defaultName(policy)).toBe("5/month")
    const berlin = compilePolicy({ limit: 5, window: "month", timeZone: "Europe/Berlin" }, "")
    expect(berlin.calendar?.timeZone).toBe("Europe/Berlin")
    expect(overridePolicy(berlin, 9, undefined)).toMatchObject({ limit: 9, calendar: berlin.calendar })
  })

  it("counts a bucket in the smallest ticks that make token and leak whole", () => {
    const { token, leak, full } = compilePolicy(
      { algorithm: "token-bucket", limit: 7, window: "1s", burst: 3 },
      "",
    )
    expect({ token, leak, full }).toEqual({ token: 1_000_000, leak: 7, full: 3_000_000 })
    expect(compilePolicy({ algorithm: "gcra", limit: 10, window: "1s", maxBurst: 4 }, "")).toMatchObject({
      capacity: 5,
      token: 100_000,
      leak: 1,
      full: 500_000,
    })
  })

  it("takes the burst of a bucket from the limit when none is given", () => {
    for (const algorithm of ["token-bucket", "leaky-bucket", "gcra"] as const) {
      expect(compilePolicy({ algorithm, limit: 5, window: "1s" }, "").capacity).toBe(5)
    }
  })

  it("takes windows from a microsecond to ten years, and limits up to 2^50", () => {
    expect(compilePolicy({ limit: 1, window: 0.001 }, "").window).toBe(1)
    expect(compilePolicy({ limit: 2 ** 50, window: tenYears }, "").window).toBe(3_652.5 * 86_400_000_000)
  })

  it("takes large numbers of a bucket that shrink by their common divisor", () => {
    expect(compilePolicy({ algorithm: "token-bucket", limit: 10_000, window: "30d" }, "")).toMatchObject({
      token: 259_200_000,
      leak: 1,
    })
  })

  it("cannot be changed afterwards", () => {
    expect(Object.isFrozen(compilePolicy({ limit: 1, window: "1s" }, ""))).toBe(true)
  })
})

const wholeFrom = (smallest: number) => `must be an integer ≥ ${smallest}`
const duration = 'must be milliseconds or text like "100ms", "10s", "1m", "2h", "1d"'
const windowRange = "must be between 1 microsecond and 10 years"
const bucketRange = "must be at most 3600 and cut the window into whole microseconds"
const zone = 'must be the IANA name of a time zone that this runtime knows, like "Europe/Berlin"'
const base = { limit: 10, window: "1s" }

type Mistake = [
  wrong: Record<string, unknown>,
  code: ErrorCode,
  place: string,
  expected: string,
  found: unknown,
]

const mistakes: Mistake[] = [
  [{ limit: undefined }, "OPTION_MISSING", "limit", "is required", undefined],
  [{ limit: 0 }, "LIMIT_INVALID", "limit", wholeFrom(1), 0],
  [{ limit: -1 }, "LIMIT_INVALID", "limit", wholeFrom(1), -1],
  [{ limit: 1.5 }, "LIMIT_INVALID", "limit", wholeFrom(1), 1.5],
  [{ limit: Number.NaN }, "LIMIT_INVALID", "limit", wholeFrom(1), Number.NaN],
  [{ limit: Number.POSITIVE_INFINITY }, "LIMIT_INVALID", "limit", wholeFrom(1), Number.POSITIVE_INFINITY],
  [{ limit: "10" }, "LIMIT_INVALID", "limit", wholeFrom(1), "10"],
  [{ limit: null }, "LIMIT_INVALID", "limit", wholeFrom(1), null],
  [{ limit: 10n }, "LIMIT_INVALID", "limit", wholeFrom(1), 10n],
  [{ limit: 2 ** 50 + 1 }, "POLICY_TOO_LARGE", "limit", "must be at most 2^50", 2 ** 50 + 1],
  [{ window: undefined }, "OPTION_MISSING", "window", 'is required, like "1m"', undefined],
  [{ window: "1 fortnight" }, "WINDOW_INVALID", "window", duration, "1 fortnight"],
  [{ window: -1 }, "WINDOW_INVALID", "window", duration, -1],
  [{ window: null }, "WINDOW_INVALID", "window", duration, null],
  [{ window: 0 }, "WINDOW_INVALID", "window", windowRange, 0],
  [{ window: "0s" }, "WINDOW_INVALID", "window", windowRange, "0s"],
  [{ window: 0.0004 }, "WINDOW_INVALID", "window", windowRange, 0.0004],
  [{ window: "3653d" }, "WINDOW_INVALID", "window", windowRange, "3653d"],
  [
    { algorithm: "tokenbucket" },
    "ALGORITHM_UNKNOWN",
    "algorithm",
    `must be one of ${names.join(", ")}`,
    "tokenbucket",
  ],
  [
    { algorithm: "toString" },
    "ALGORITHM_UNKNOWN",
    "algorithm",
    `must be one of ${names.join(", ")}`,
    "toString",
  ],
  [{ algorithm: 1 }, "ALGORITHM_UNKNOWN", "algorithm", `must be one of ${names.join(", ")}`, 1],
  [{ buckets: 0 }, "LIMIT_INVALID", "buckets", wholeFrom(1), 0],
  [{ buckets: "4" }, "LIMIT_INVALID", "buckets", wholeFrom(1), "4"],
  [{ buckets: 3_601 }, "WINDOW_INVALID", "buckets", bucketRange, 3_601],
  [{ buckets: 3 }, "WINDOW_INVALID", "buckets", bucketRange, 3],
  [{ algorithm: "token-bucket", burst: 0 }, "LIMIT_INVALID", "burst", wholeFrom(1), 0],
  [{ algorithm: "leaky-bucket", burst: 2.5 }, "LIMIT_INVALID", "burst", wholeFrom(1), 2.5],
  [{ algorithm: "gcra", maxBurst: -1 }, "LIMIT_INVALID", "maxBurst", wholeFrom(0), -1],
  [
    { algorithm: "fixed-window", anchor: "monday" },
    "OPTION_TYPE",
    "anchor",
    "must be one of aligned, first-request",
    "monday",
  ],
  [
    { window: "month", algorithm: "token-bucket" },
    "OPTION_CONFLICT",
    "window",
    '"month" is a window of fixed-window only',
    "token-bucket",
  ],
  [
    { window: "day", anchor: "aligned" },
    "OPTION_CONFLICT",
    "anchor",
    'is no option of the window "day"',
    "aligned",
  ],
  [
    { algorithm: "fixed-window", timeZone: "UTC" },
    "OPTION_CONFLICT",
    "timeZone",
    'is an option of the windows "hour", "day", "week" and "month" only',
    "1s",
  ],
  [{ window: "day", timeZone: "Europe/Atlantis" }, "TIME_ZONE_UNKNOWN", "timeZone", zone, "Europe/Atlantis"],
  [{ window: "day", timeZone: "+02:00" }, "TIME_ZONE_UNKNOWN", "timeZone", zone, "+02:00"],
  [{ window: "day", timeZone: 2 }, "OPTION_TYPE", "timeZone", "must be the name of a time zone", 2],
  [
    { algorithm: "leaky-bucket", overflow: true },
    "OPTION_TYPE",
    "overflow",
    "must be one of reject, queue",
    true,
  ],
]

describe("a mistake in a limit", () => {
  it.each(mistakes)("%o is %s", (wrong, code, place, expected, found) => {
    const options = { ...base, ...wrong } as unknown as LimitOptions
    expect(thrownBy(() => compilePolicy(options, "limits[1]"))).toMatchObject({
      code,
      place: `limits[1].${place}`,
      expected,
      found,
    })
    expect(thrownBy(() => compilePolicy(options, ""))).toMatchObject({ place })
  })

  const takers: [option: string, value: unknown, takers: AlgorithmName[]][] = [
    ["burst", 5, ["token-bucket", "leaky-bucket"]],
    ["maxBurst", 5, ["gcra"]],
    ["buckets", 5, ["sliding-window-counter"]],
    ["anchor", "aligned", ["fixed-window"]],
    ["overflow", "queue", ["leaky-bucket"]],
    ["hold", "1m", ["concurrency"]],
  ]

  it.each(takers)("%s belongs to its algorithms only", (option, value, owners) => {
    for (const algorithm of names) {
      const span = algorithm === "concurrency" ? { window: undefined, hold: "1m" } : {}
      const options = { ...base, ...span, algorithm, [option]: value } as LimitOptions
      if (owners.includes(algorithm)) {
        expect(compilePolicy(options, "").algorithm.name).toBe(algorithm)
        continue
      }
      expect(thrownBy(() => compilePolicy(options, "rule"))).toMatchObject({
        code: "OPTION_CONFLICT",
        place: `rule.${option}`,
        expected: `is an option of ${owners.join(" and ")} only`,
        found: algorithm,
      })
    }
  })

  // A prime limit shares no divisor with the window, so that limit × window is as large as it looks.
  const tooLarge: [options: LimitOptions, place: string, found: number][] = [
    [{ algorithm: "token-bucket", limit: 1_000_003, window: tenYears }, "limit", 1_000_003],
    [{ algorithm: "leaky-bucket", limit: 1_000_003, window: tenYears }, "limit", 1_000_003],
    [{ algorithm: "gcra", limit: 1_000_003, window: tenYears }, "limit", 1_000_003],
    [{ algorithm: "token-bucket", limit: 1, window: tenYears, burst: 100 }, "burst", 100],
    [{ algorithm: "token-bucket", limit: 1_000_003, window: tenYears, burst: 1_000 }, "burst", 1_000],
    [{ algorithm: "gcra", limit: 1, window: tenYears, maxBurst: 100 }, "maxBurst", 100],
  ]

  it.each(tooLarge)("%o is too large for exact arithmetic", (options, place, found) => {
    const error = thrownBy(() => compilePolicy(options, "rule"))
    expect(error).toMatchObject({ code: "POLICY_TOO_LARGE", place: `rule.${place}`, found })
    expect(error.expected).toMatch(/2\^53/)
  })

  it("is none one step below the end of exact arithmetic", () => {
    // 2^20 tokens of 2^33 ticks are 2^53 ticks. One token more is refused.
    const options: LimitOptions = {
      algorithm: "token-bucket",
      limit: 1,
      window: 2 ** 33 / 1000,
      burst: 2 ** 20,
    }
    expect(compilePolicy(options, "").full).toBe(2 ** 53)
    expect(thrownBy(() => compilePolicy({ ...options, burst: 2 ** 20 + 1 }, ""))).toMatchObject({
      code: "POLICY_TOO_LARGE",
      place: "burst",
      found: 2 ** 20 + 1,
    })
  })
})

describe("overridePolicy", () => {
  const bucket = compilePolicy({ algorithm: "token-bucket", limit: 10, window: "1s", burst: 30 }, "")

  it("changes a limit and leaves the original as it was", () => {
    const policy = compilePolicy({ limit: 10, window: "1s", buckets: 4 }, "")
    expect(overridePolicy(policy, 25, undefined)).toMatchObject({
      limit: 25,
      capacity: 25,
      window: 1_000_000,
      buckets: 4,
    })
    expect(policy).toMatchObject({ limit: 10, capacity: 10 })
  })

  it("keeps an explicit burst, and a default burst follows the limit", () => {
    const byDefault = compilePolicy({ algorithm: "token-bucket", limit: 10, window: "1s" }, "")
    expect(overridePolicy(bucket, 20, undefined)).toMatchObject({
      limit: 20,
      capacity: 30,
      leak: 1,
      token: 50_000,
    })
    expect(overridePolicy(byDefault, 20, undefined)).toMatchObject({ limit: 20, capacity: 20 })
    expect(overridePolicy(bucket, undefined, 5)).toMatchObject({ limit: 10, capacity: 5 })
  })

  it("refuses what a limit would refuse", () => {
    expect(thrownBy(() => overridePolicy(bucket, 0, undefined))).toMatchObject({
      code: "LIMIT_INVALID",
      place: "limit",
      found: 0,
    })
    expect(thrownBy(() => overridePolicy(bucket, undefined, 1.5))).toMatchObject({
      code: "LIMIT_INVALID",
      place: "burst",
      found: 1.5,
    })
  })

  it("refuses a burst where there is none", () => {
    const policy = compilePolicy({ limit: 10, window: "1s" }, "")
    expect(thrownBy(() => overridePolicy(policy, undefined, 5))).toMatchObject({
      code: "OPTION_CONFLICT",
      place: "burst",
      found: "sliding-window-counter",
    })
  })
})

describe("a saved policy", () => {
  const policies: Policy[] = [
    ...names.map((algorithm) => {
      const span = algorithm === "concurrency" ? "hold" : "window"
      return compilePolicy({ algorithm, limit: 7, [span]: "1m" }, "")
    }),
    compilePolicy({ algorithm: "fixed-window", limit: 7, window: "1m", anchor: "first-request" }, ""),
    compilePolicy({ limit: 7, window: "1m", buckets: 6 }, ""),
    compilePolicy({ algorithm: "leaky-bucket", limit: 7, window: "1m", burst: 3, overflow: "queue" }, ""),
    compilePolicy({ algorithm: "gcra", limit: 7, window: "1m", maxBurst: 0 }, ""),
    blockPolicy,
  ]

  it("comes back the same, through JSON", () => {
    for (const policy of policies) {
      expect(restorePolicy(JSON.parse(JSON.stringify(savePolicy(policy))))).toEqual(policy)
    }
  })
})

describe("defaultName", () => {
  it("is the limit and the window", () => {
    expect(defaultName(compilePolicy({ limit: 100, window: "60s" }, ""))).toBe("100/1m")
    expect(defaultName(compilePolicy({ limit: 5, window: 1_500 }, ""))).toBe("5/1500ms")
  })
})

function thrownBy(run: () => unknown): SluiceError {
  try {
    run()
  } catch (error) {
    if (error instanceof SluiceError) return error
    throw error
  }
  throw new Error("nothing was thrown")
}
