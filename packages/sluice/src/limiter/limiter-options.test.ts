// Every mistake in the options is a SluiceError with a code, the place, what was expected and what was found.

import { describe, it } from "vitest"
import { createLimiter } from "./limiter.js"
import type { LimiterOptions } from "./limiter-options.js"
import { expectMistake, type Mistake } from "./mistake.test-support.js"

const minute = { limit: 10, window: "1m" }

describe("createLimiter refuses", () => {
  const mistakes: [what: string, options: unknown, mistake: Mistake][] = [
    ["nothing", undefined, { code: "OPTION_TYPE", place: "createLimiter", says: "must be an object" }],
    ["null", null, { code: "OPTION_TYPE", place: "createLimiter", says: "must be an object" }],
    ["a number", 100, { code: "OPTION_TYPE", place: "createLimiter", says: "got 100", found: 100 }],
    ["a list", [minute], { code: "OPTION_TYPE", place: "createLimiter", says: "got an array" }],
    [
      "a misspelt option",
      { ...minute, windw: 1 },
      { code: "OPTION_UNKNOWN", place: "createLimiter.windw", says: "did you mean window?" },
    ],
    [
      "an option in another case",
      { ...minute, Burst: 1 },
      { code: "OPTION_UNKNOWN", place: "createLimiter.Burst", says: "did you mean burst?" },
    ],
    [
      "an option of another library",
      { ...minute, points: 5 },
      { code: "OPTION_UNKNOWN", place: "createLimiter.points", says: "did you mean limit?" },
    ],
    [
      "no limit",
      { window: "1m" },
      { code: "OPTION_MISSING", place: "createLimiter.limit", says: "is required" },
    ],
    [
      "no window",
      { limit: 5 },
      { code: "OPTION_MISSING", place: "createLimiter.window", says: "is required" },
    ],
    [
      "limit 0",
      { limit: 0, window: "1m" },
      {
        code: "LIMIT_INVALID",
        place: "createLimiter.limit",
        says: "must be an integer ≥ 1, got 0",
        found: 0,
      },
    ],
    [
      "half a unit",
      { limit: 1.5, window: "1m" },
      { code: "LIMIT_INVALID", place: "createLimiter.limit", says: "got 1.5", found: 1.5 },
    ],
    [
      "a limit as text",
      { limit: "10", window: "1m" },
      { code: "LIMIT_INVALID", place: "createLimiter.limit", says: 'got "10"', found: "10" },
    ],
    [
      "a limit of NaN",
      { limit: Number.NaN, window: "1m" },
      { code: "LIMIT_INVALID", place: "createLimiter.limit", says: "got NaN" },
    ],
    [
      "a limit without end",
      { limit: Number.POSITIVE_INFINITY, window: "1m" },
      { code: "LIMIT_INVALID", place: "createLimiter.limit", says: "got Infinity" },
    ],
    [
      "a limit beyond 2^50",
      { limit: 2 ** 51, window: "1m" },
      { code: "POLICY_TOO_LARGE", place: "createLimiter.limit", says: "2^50" },
    ],
    [
      "a bucket too large to be exact",
      { algorithm: "token-bucket", limit: 2 ** 40 + 1, window: "1d" },
      { code: "POLICY_TOO_LARGE", place: "createLimiter.limit", says: /too large for exact arithmetic/ },
    ],
    [
      "a burst too large to be exact",
      { algorithm: "token-bucket", limit: 7, window: "1d", burst: 2 ** 45 },
      { code: "POLICY_TOO_LARGE", place: "createLimiter.burst", says: /too large for exact arithmetic/ },
    ],
    [
      "a window of 1 fortnight",
      { limit: 5, window: "1 fortnight" },
      {
        code: "WINDOW_INVALID",
        place: "createLimiter.window",
        says: 'got "1 fortnight"',
        found: "1 fortnight",
      },
    ],
    [
      "a window of 0",
      { limit: 5, window: 0 },
      { code: "WINDOW_INVALID", place: "createLimiter.window", says: "1 microsecond" },
    ],
    [
      "a window below zero",
      { limit: 5, window: -1 },
      { code: "WINDOW_INVALID", place: "createLimiter.window", says: "got -1" },
    ],
    [
      "a window of 11 years",
      { limit: 5, window: "4015d" },
      { code: "WINDOW_INVALID", place: "createLimiter.window", says: "10 years" },
    ],
    [
      "a window that is an object",
      { limit: 5, window: {} },
      { code: "WINDOW_INVALID", place: "createLimiter.window", says: "got an object" },
    ],
    [
      "buckets that do not divide the window",
      { limit: 5, window: "1s", buckets: 7 },
      { code: "WINDOW_INVALID", place: "createLimiter.buckets", says: "whole microseconds", found: 7 },
    ],
    [
      "no buckets",
      { limit: 5, window: "1s", buckets: 0 },
      { code: "LIMIT_INVALID", place: "createLimiter.buckets", says: "must be an integer ≥ 1" },
    ],
    [
      "an algorithm that does not exist",
      { ...minute, algorithm: "token-buckt" },
      { code: "ALGORITHM_UNKNOWN", place: "createLimiter.algorithm", says: "must be one of fixed-window" },
    ],
    [
      "an algorithm from the prototype",
      { ...minute, algorithm: "toString" },
      { code: "ALGORITHM_UNKNOWN", place: "createLimiter.algorithm", says: 'got "toString"' },
    ],
    [
      "a burst where there is none",
      { ...minute, burst: 5 },
      { code: "OPTION_CONFLICT", place: "createLimiter.burst", says: "token-bucket and leaky-bucket" },
    ],
    [
      "buckets for a bucket",
      { ...minute, algorithm: "token-bucket", buckets: 5 },
      { code: "OPTION_CONFLICT", place: "createLimiter.buckets", says: "sliding-window-counter only" },
    ],
    [
      "an anchor elsewhere",
      { ...minute, anchor: "aligned" },
      { code: "OPTION_CONFLICT", place: "createLimiter.anchor", says: "fixed-window only" },
    ],
    [
      "an anchor that does not exist",
      { ...minute, algorithm: "fixed-window", anchor: "first" },
      { code: "OPTION_TYPE", place: "createLimiter.anchor", says: /first-request/, found: "first" },
    ],
    [
      "an overflow that does not exist",
      { ...minute, algorithm: "leaky-bucket", overflow: "drop" },
      { code: "OPTION_TYPE", place: "createLimiter.overflow", says: /reject/, found: "drop" },
    ],
    [
      "an onStoreFailure that does not exist",
      { ...minute, onStoreFailure: "open" },
      { code: "OPTION_TYPE", place: "createLimiter.onStoreFailure", says: /local/, found: "open" },
    ],
    [
      "a store that is none",
      { ...minute, store: {} },
      { code: "OPTION_TYPE", place: "createLimiter.store", says: "must be a store" },
    ],
    [
      "a store by name",
      { ...minute, store: "memory" },
      { code: "OPTION_TYPE", place: "createLimiter.store", says: 'got "memory"' },
    ],
    [
      "a clock that is none",
      { ...minute, clock: Date },
      { code: "OPTION_TYPE", place: "createLimiter.clock", says: "now()" },
    ],
    [
      "an empty prefix",
      { ...minute, prefix: "" },
      { code: "OPTION_TYPE", place: "createLimiter.prefix", says: 'got ""' },
    ],
    [
      "a name that is none",
      { ...minute, name: 5 },
      { code: "OPTION_TYPE", place: "createLimiter.name", says: "got 5" },
    ],
    [
      "an empty list of limits",
      { limits: [] },
      { code: "OPTION_TYPE", place: "createLimiter.limits", says: "at least one limit" },
    ],
    [
      "limits that are no list",
      { limits: minute },
      { code: "OPTION_TYPE", place: "createLimiter.limits", says: "a list" },
    ],
    [
      "a limit beside limits",
      { limit: 5, limits: [minute] },
      { code: "OPTION_CONFLICT", place: "createLimiter.limit", says: "belongs inside limits" },
    ],
    [
      "a mistake in the second limit",
      { limits: [minute, { limit: 0, window: "1h" }] },
      { code: "LIMIT_INVALID", place: "limits[1].limit", says: "≥ 1" },
    ],
    [
      "a misspelling in the second limit",
      { limits: [minute, { limit: 5, widow: "1h" }] },
      { code: "OPTION_UNKNOWN", place: "limits[1].widow", says: "did you mean window?" },
    ],
    [
      "a second limit that is nothing",
      { limits: [minute, null] },
      { code: "OPTION_TYPE", place: "limits[1]", says: "must be an object" },
    ],
    [
      "a store inside a limit",
      { limits: [{ ...minute, store: {} }] },
      { code: "OPTION_UNKNOWN", place: "limits[0].store", says: "is not one of" },
    ],
    [
      "two limits that nothing tells apart",
      { limits: [minute, { limit: 20, window: 60_000 }] },
      { code: "LIMIT_NAME_DUPLICATE", place: "limits[1].name", says: "unique" },
    ],
    [
      "two limits of one name",
      {
        limits: [
          { ...minute, name: "a" },
          { limit: 5, window: "1h", name: "a" },
        ],
      },
      { code: "LIMIT_NAME_DUPLICATE", place: "limits[1].name", says: 'got "a"', found: "a" },
    ],
  ]

  it.each(mistakes)("%s", (_what, options, mistake) => {
    let error: unknown
    try {
      createLimiter(options as LimiterOptions)
    } catch (thrown) {
      error = thrown
    }
    expectMistake(error, mistake)
  })
})
