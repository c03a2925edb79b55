// Mistakes that people make in their first hour get an error that names the fix.

import { describe, expect, it } from "vitest"
import { createLimiter } from "./limiter/limiter.js"
import type { LimiterOptions } from "./limiter/limiter-options.js"
import type { RuleEngineOptions } from "./rules/index.js"
import { createRuleEngine, parseRuleSet } from "./rules/index.js"
import { memoryStore } from "./stores/memory/memory-store.js"
import { redisStore } from "./stores/redis/redis-store.js"

const minute = { limit: 5, window: "1m" } as const
const PASSWORD = "redis://user:secret@localhost"
const client = { connect() {}, once() {} }

describe.each<[string, (store: unknown) => unknown]>([
  ["createLimiter", (store) => createLimiter({ ...minute, store } as LimiterOptions)],
  [
    "createRuleEngine",
    (store) => createRuleEngine({ rules: { version: 1, rules: [] }, store } as RuleEngineOptions),
  ],
])("%s with a store that is", (place, create) => {
  it.each([
    ["a function", memoryStore, "call the function, as in memoryStore(), got a function"],
    [
      "a promise",
      Promise.resolve(memoryStore()),
      "await the promise, as in await connectRedis(url), got an object",
    ],
    ["a URL", PASSWORD, "open one, as in await connectRedis(url)"],
    ["a client", client, "wrap the client, as in redisStore(client), got an object"],
    ["something else", 5, "must be a store, got 5"],
  ])("%s", (_what, store, says) => {
    expect(() => create(store)).toThrow(
      expect.objectContaining({
        code: "OPTION_TYPE",
        place: `${place}.store`,
        message: expect.stringContaining(says),
      }),
    )
    expect(() => create(store)).not.toThrow("secret")
  })
})

describe("redisStore of", () => {
  it.each<[string, unknown, string]>([
    ["a URL", PASSWORD, "for a URL write await connectRedis(url)"],
    ["a promise", Promise.resolve({}), "await the promise"],
    ["nothing", undefined, "must be a client of ioredis or node-redis"],
  ])("%s", (_what, given, says) => {
    expect(() => redisStore(given as object)).toThrow(
      expect.objectContaining({ code: "OPTION_TYPE", message: expect.stringContaining(says) }),
    )
    expect(() => redisStore(given as object)).not.toThrow("secret")
  })
})

describe("createRuleEngine with rules that are", () => {
  it.each<[string, unknown, string]>([
    ["the name of a file", "rules.yaml", "for a file write await fileRules(path)"],
    ["a path", "./config/limits.json", "for a file write await fileRules(path)"],
    ["a promise", Promise.resolve({}), "await the promise, as in await fileRules(path)"],
    ["null", null, "must be a rule set as an object, its text, or a source, got null"],
    ["a number", 5, "got 5"],
  ])("%s", (_what, given, says) => {
    expect(() => createRuleEngine({ rules: given } as RuleEngineOptions)).toThrow(
      expect.objectContaining({
        code: "OPTION_TYPE",
        place: "createRuleEngine.rules",
        message: expect.stringContaining(says),
      }),
    )
  })
})

it("parseRuleSet of an object", () => {
  expect(() => parseRuleSet({ version: 1, rules: [] } as unknown as string)).toThrow(
    "parseRuleSet: must be the text of YAML or JSON; checkRuleSet checks an object, got an object [OPTION_TYPE]",
  )
})

describe("all mistakes of a limit are told at once", () => {
  function mistakesOf(options: unknown): string[] {
    try {
      createLimiter(options as LimiterOptions)
    } catch (error) {
      return (error as Error).message.split("\n")
    }
    return []
  }

  it("in a single limit", () => {
    expect(
      mistakesOf({ limit: 0, windowMs: 5, algorithm: "gcra", burst: 0, prefix: "", store: memoryStore }),
    ).toEqual([
      expect.stringContaining("createLimiter.windowMs: does not exist; did you mean window?"),
      expect.stringContaining("createLimiter.store: must be a store"),
      expect.stringContaining("createLimiter.prefix: must be"),
      expect.stringContaining("createLimiter.burst: is an option of token-bucket"),
      expect.stringContaining("createLimiter.limit: must be an integer ≥ 1, got 0"),
      expect.stringContaining("createLimiter.window: is required"),
      expect.stringContaining("createLimiter.burst: must be an integer ≥ 1, got 0"),
    ])
  })

  it("in a list of limits", () => {
    expect(
      mistakesOf({ limits: [{ limit: -1, window: "1m" }, { ...minute, nam: "a" }, null, { window: "x" }] }),
    ).toEqual([
      expect.stringContaining("limits[0].limit"),
      expect.stringContaining("limits[1].nam: does not exist; did you mean name?"),
      expect.stringContaining("limits[2]: must be an object, got null"),
      expect.stringContaining("limits[3].limit: is required"),
      expect.stringContaining("limits[3].window: must be milliseconds"),
    ])
  })

  it("in the first error, with the others beside it", () => {
    try {
      createLimiter({ limit: 0, window: "x" })
      expect.unreachable()
    } catch (error) {
      expect(error).toMatchObject({
        code: "LIMIT_INVALID",
        place: "createLimiter.limit",
        found: 0,
        others: [{ code: "WINDOW_INVALID", place: "createLimiter.window", found: "x", others: [] }],
      })
    }
  })

  it("in a rule", () => {
    const text = "version: 1\nrules: [{ id: a, limits: [{ limit: 5, window: 1m, buckets: 7, burst: 3 }] }]"
    expect(() => parseRuleSet(text)).toThrow(/buckets must be at most .*\n.*burst is an option of/)
  })
})
