import { afterEach, expect, it, vi } from "vitest"
import { createLimiter } from "./limiter/limiter.js"
import { rateLimit } from "./middleware/express.js"

afterEach(() => {
  vi.restoreAllMocks()
})

it.each<[object, string]>([
  [{ max: 5, window: "1m" }, "rateLimit.max: does not exist; did you mean limit? [OPTION_UNKNOWN]"],
  [
    { limit: 5, windowMs: 60_000 },
    "rateLimit.windowMs: does not exist; did you mean window? (it takes milliseconds too",
  ],
  [
    { limit: 5, timeWindow: "1 minute" },
    'did you mean window? (it takes milliseconds or text like "1m", not "1 minute")',
  ],
  [{ limit: 5, window: "1m", keyGenerator: () => "a" }, "did you mean key?"],
  [{ limit: 5, window: "1m", standardHeaders: true }, 'did you mean headers? (one of "both"'],
  [{ limit: 5, window: "1m", redis: {} }, "did you mean store? (redisStore(client))"],
])("a middleware refuses %j of another limiter, and says what to write", (options, message) => {
  expect(() => rateLimit(options as never)).toThrow(message)
})

it("createLimiter explains the unit of another limiter's option", () => {
  expect(() => createLimiter({ points: 5, duration: 60 } as never)).toThrow(
    "createLimiter.points: does not exist; did you mean limit?",
  )
  expect(() => createLimiter({ limit: 5, duration: 60 } as never)).toThrow(
    'createLimiter.duration: does not exist; did you mean window? (a number is milliseconds there, not seconds: write "60s") [OPTION_UNKNOWN]',
  )
  // It is an option of a middleware only.
  expect(() => createLimiter({ limit: 5, window: "1m", keyGenerator: () => "a" } as never)).toThrow(
    "is not one of",
  )
})

it.each([60, 3_600, 86_400])("warns of the window %d, which is seconds to its author", async (window) => {
  const warn = vi.spyOn(process, "emitWarning").mockImplementation(() => undefined)
  await createLimiter({ limit: 5, window }).close()
  await createLimiter({ limits: [{ limit: 5, window }] }).close()
  rateLimit({ limit: 5, window })
  const says = `is ${window} milliseconds, which is probably a mistake; write "${window}s" for seconds, or "${window}ms" if you mean it [OPTION_DOUBTFUL]`
  expect(warn.mock.calls.map(([warning]) => (warning as Error).message)).toEqual([
    `createLimiter.window: ${says}`,
    `limits[0].window: ${says}`,
    `createLimiter.window: ${says}`,
  ])
})

it.each(["60ms", "60s", 1_000, 60_000])("does not warn of the window %j", async (window) => {
  const warn = vi.spyOn(process, "emitWarning").mockImplementation(() => undefined)
  await createLimiter({ limit: 5, window }).close()
  expect(warn).not.toHaveBeenCalled()
})
