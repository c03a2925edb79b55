// Every public function of `sluice`, `sluice/redis` and `sluice/rules` answers nonsense with a SluiceError, never a TypeError.

import fc from "fast-check"
import { describe, expect, it } from "vitest"
import * as sluice from "./index.js"
import * as rules from "./rules/index.js"
import * as redis from "./stores/redis/index.js"

const { SluiceError } = sluice

const set = { version: 1, rules: [{ id: "a", keyBy: "user", limits: [{ limit: 5, window: "1m" }] }] } as const

/** Nonsense that people and programs really pass, and anything else. */
const junk = fc.oneof(
  fc.constantFrom<unknown>(
    undefined,
    null,
    true,
    -1,
    1.5,
    Number.NaN,
    10n,
    "",
    "x",
    "1m",
    "redis://localhost",
    "rules.yaml",
    Symbol("junk"),
    () => 1,
    Promise.resolve(1),
    [],
    [null],
    Array(1),
    {},
    Object.create(null),
    new Map(),
    new Date(Number.NaN),
    { limit: null },
    { limits: [null] },
    { limit: 5, window: Symbol("junk") },
    { store: sluice.memoryStore },
    { rules: null },
    { rules: [null] },
    { rules: set, guardRails: null },
    { within: {} },
    { key: 1 },
    { cost: {} },
    { at: "now" },
  ),
  fc.anything({ withBigInt: true, withNullPrototype: true, withSparseArray: true }),
)

/** Calls a function, and fails unless it returns or throws what this library throws on purpose. */
async function survives(call: () => unknown): Promise<void> {
  try {
    // A call that does not end by itself, such as a wait, is fine as well.
    await Promise.race([call(), new Promise((resolve) => setImmediate(resolve))])
  } catch (error) {
    if (!(error instanceof SluiceError || error instanceof redis.StoreFailure)) throw error
  }
}

/** Keeps functions from the file system and the network: with a text they would do what they are for. */
function withoutText(call: (...args: never[]) => unknown) {
  return (...args: unknown[]) => (typeof args[0] === "string" ? undefined : call(...(args as never[])))
}

type Callable = (...args: unknown[]) => unknown

const guarded: Record<string, Callable> = {
  fileSnapshot: withoutText(sluice.fileSnapshot),
  fileRules: withoutText(rules.fileRules),
  connectRedis: withoutText(redis.connectRedis),
  openRedisClient: withoutText(redis.openRedisClient),
  // The second argument is where errors say the mistake is.
  parseDuration: (duration) => sluice.parseDuration(duration, "junk"),
}

function functionsOf(module: object): [string, Callable][] {
  return Object.entries(module)
    .filter(([name, value]) => typeof value === "function" && !/^[A-Z]/.test(name))
    .map(([name, value]) => [name, guarded[name] ?? (value as Callable)])
}

describe.each([
  ["sluice", sluice],
  ["sluice/redis", redis],
  ["sluice/rules", rules],
])("%s", (_name, module) => {
  it.each(functionsOf(module))("%s", async (_function, call) => {
    await fc.assert(
      fc.asyncProperty(junk, junk, (first, second) => survives(() => call(first, second))),
      { numRuns: 200 },
    )
  })
})

/** The names of the methods, but for `close`: the others need the object open. */
function methodsOf(object: object): string[] {
  return Object.entries(Object.getOwnPropertyDescriptors(Object.getPrototypeOf(object)))
    .filter(([name, { value }]) => typeof value === "function" && name !== "constructor" && name !== "close")
    .map(([name]) => name)
}

describe.each<[string, () => object]>([
  ["a limiter", () => sluice.createLimiter({ limit: 5, window: "1m" })],
  [
    "a limiter with two limits",
    () =>
      sluice.createLimiter({
        limits: [
          { limit: 5, window: "1m" },
          { limit: 9, window: "1h" },
        ],
      }),
  ],
  ["a rule engine", () => rules.createRuleEngine({ rules: set as unknown as rules.RuleSetDocument })],
])("%s", (_name, open) => {
  const object = open() as Record<string, Callable>

  it.each(methodsOf(object))("%s", async (method) => {
    const call = (...args: unknown[]) => object[method]?.(...args)
    await fc.assert(
      fc.asyncProperty(junk, junk, async (first, second) => {
        await survives(() => call(first, second))
        // With the first arguments in order: the key of a limiter; the rule and key of an engine.
        await survives(() => call("key", first, second))
        await survives(() => call("a", "key", first, second))
      }),
      { numRuns: 100 },
    )
  })
})

it("every function is among those", () => {
  const names = [sluice, redis, rules].flatMap((module) => functionsOf(module).map(([name]) => name))
  expect(names).toEqual(expect.arrayContaining(["createLimiter", "redisStore", "createRuleEngine"]))
  expect(names.length).toBeGreaterThan(15)
})
