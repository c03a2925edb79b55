import fc from "fast-check"
import { describe, expect, it } from "vitest"
import { compilePolicy } from "../../policy.js"
import { Namespace } from "../store.js"
import { encodeKey, keyslot, storageKey } from "./keys.js"

const policy = compilePolicy({ limit: 1, window: "1m" }, "test")

function stored(namespace: string, key: string): string {
  return storageKey({ namespace: new Namespace(namespace), key, policy, cost: 1 })
}

/** What Redis takes for the hash tag of a key, told from its documentation and not from ours. */
function hashTag(key: string): string | undefined {
  return /^[^{]*\{([^}]+)\}/.exec(key)?.[1]
}

/** Few characters, all of them able to pass for another: collisions would be found at once. */
const oddText = fc
  .array(
    fc.constantFrom(
      ..."a{}%#:7bd83 \0\n\u007f",
      "%7b",
      "%d83d",
      "\ud83d",
      "\ude00",
      "\ud83e",
      "\ufffd",
      "é",
      "e\u0301",
    ),
    { maxLength: 6 },
  )
  .map((parts) => parts.join(""))

describe("a storage key", () => {
  it.each([
    ["sluice:gcra:60000000us", "user:42", "s1::gcra:60000000us:{user:42}"],
    ["sluices:gcra:1m", "user:42", "s1:sluices:gcra:1m:{user:42}"],
    ["login", "2001:db8::/64", "s1:login:{2001:db8::/64}"],
    ["login", "{a}", "s1:login:{%7ba%7d}"],
    ["login", "a b\n\0%#", "s1:login:{a%20b%0a%00%25%23}"],
    ["login", "漢字😀", "s1:login:{漢字😀}"],
    ["login", "half \ud83d", "s1:login:{half%20%d83d}"],
    ["login", "", "s1:login:{%}"],
    ["{pick}a slot", "key", "s1:%7bpick%7da%20slot:{key}"],
  ])("of %j and %j is %s", (namespace, key, expected) => {
    expect(stored(namespace, key)).toBe(expected)
  })

  it("of a key over 128 characters is short, and no key can be chosen to meet it", () => {
    const long = "x".repeat(10_000)
    expect(stored("login", long)).toMatch(/^s1:login:\{#[\w-]{43}\}$/)
    expect(stored("login", "x".repeat(128))).toBe(`s1:login:{${"x".repeat(128)}}`)
    expect(stored("login", encodeKey(long))).not.toBe(stored("login", long))
    expect(stored("login", `${long}y`)).not.toBe(stored("login", long))
    const halves = ["\ud83d", "\ud83e", "\ufffd"].map((half) => stored("login", long + half))
    expect(new Set(halves).size).toBe(3)
  })

  it("has the encoded key, and nothing else, as its hash tag", () => {
    const names = fc.oneof(oddText, fc.string({ unit: "binary" }))
    fc.assert(
      fc.property(names, names, (namespace, key) => {
        expect(hashTag(stored(namespace, key))).toBe(encodeKey(key))
      }),
      { numRuns: 2_000 },
    )
  })

  it("never belongs to two keys or two namespaces, in the bytes that reach Redis", () => {
    const pair = fc.tuple(oddText, oddText)
    fc.assert(
      fc.property(pair, pair, (a, b) => {
        const same = Buffer.from(stored(...a)).equals(Buffer.from(stored(...b)))
        expect(same).toBe(a[0] === b[0] && a[1] === b[1])
      }),
      { numRuns: 5_000 },
    )
  })

  it("holds no line break, no space and no other control character", () => {
    fc.assert(
      fc.property(oddText, fc.string({ unit: "binary" }), (namespace, key) => {
        // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what it looks for.
        expect(stored(namespace, key)).not.toMatch(/[\u0000-\u0020\u007f]/)
      }),
      { numRuns: 2_000 },
    )
  })
})

// From the Redis Cluster specification and from CLUSTER KEYSLOT; test/redis/keyslot.test.ts asks a server about many more.
it.each([
  ["123456789", 12739],
  ["foo", 12182],
  ["{user1000}.following", 3443],
  ["{user1000}.followers", 3443],
  ["foo{}{bar}", 8363],
  ["foo{{bar}}zap", 4015],
  ["foo{bar}{zap}", 5061],
  ["", 0],
])("the slot of %j is %i", (key, slot) => {
  expect(keyslot(key)).toBe(slot)
})
