// Any text is a key, and no two of them share a counter.

import { Namespace } from "../../stores/store.js"
import { Counter, type DefineTest, freshName, second } from "./counter.js"
import { expectFields, expectSame } from "./expect.js"

const LONG = "x".repeat(10_000)

/** Pairs that a careless separator, encoding, normalisation or truncation would take for one. */
// biome-ignore format: one key per line would hide which are near to each other.
const oddKeys: readonly string[] = [
  "a", "b", "ab", "a:b", "a::b", ":a:b", "a:b:", ":", "::", "a|b", "a/b", "a\\b", "a,b", "a.b", "a;b",
  "{}", "{a}", "{b}", "a{b}", "{a}b", "}{", "{", "}", "{{a}}", "[a]", "(a)", "<a>", "*", "?", "a*", "%", "%61", "%00",
  " ", "  ", "a ", " a", "a\tb", "a\nb", "a\r\nb", "a\rb", "\n", "\r\n", "\0", "\0\0", "a\0b", "a\0", "\0a", "\x1b[31m",
  "A", "B", "İ", "i", "ı", "ß", "ss", "é", "e\u0301", "ａ", "😀", "😀😀", "👩‍👩‍👧", "漢字", "עברית", "\u200b", "\ufeff", "\uffff",
  "0", "00", "-0", "1", "1.0", "1e0", "null", "undefined", "true", "NaN", "[object Object]", "__proto__", "constructor",
  "toString", "hasOwnProperty", "'", '"', "`", "''", "$1", "\\u0061", "; DROP TABLE keys", "EVAL", "KEYS[1]",
  LONG, `${LONG}x`, `${LONG}y`, `y${LONG}`, `${LONG.slice(1)}y`, "漢".repeat(10_000),
]

export function keys(test: DefineTest): void {
  test("no two odd keys share a counter", async (store) => {
    const counter = new Counter(store, { algorithm: "sliding-window-log", limit: 2, window: "1m" })
    for (const key of oddKeys) {
      expectFields(
        await counter.check(second(1), 1, key),
        { allowed: true, remaining: 1 },
        `first on ${name(key)}`,
      )
    }
    for (const key of oddKeys) {
      expectFields(
        await counter.check(second(2), 1, key),
        { allowed: true, remaining: 0 },
        `second on ${name(key)}`,
      )
    }
    for (const key of oddKeys) {
      expectFields(await counter.check(second(3), 1, key), { allowed: false }, `third on ${name(key)}`)
    }
  })

  test("odd keys in one call stay apart, and their resets and refunds too", async (store) => {
    const counter = new Counter(store, { algorithm: "token-bucket", limit: 3, window: "1m" })
    const checks = oddKeys.map((key) => ({ charges: [counter.charge(2, key)], at: second(1) }))
    const outcomes = await store.checkMany(checks)
    expectSame(outcomes.filter((outcome) => !outcome.allowed).length, 0, "denied")
    await store.refund([counter.charge(1, "{}")], second(1))
    await store.reset([counter.charge(1, "a:b")])
    for (const key of oddKeys) {
      const remaining = key === "{}" ? 2 : key === "a:b" ? 3 : 1
      expectFields(await counter.peek(second(1), key), { remaining }, name(key))
    }
  })

  test("half a surrogate pair is a key like any other", async (store) => {
    const counter = new Counter(store, { algorithm: "fixed-window", limit: 1, window: "1m" })
    expectFields(await counter.check(second(1), 1, "a\ud83d"), { allowed: true }, "first")
    expectFields(await counter.check(second(1), 1, "a\ud83d"), { allowed: false }, "second")
  })

  test("two namespaces never mix", async (store) => {
    const limit = { algorithm: "fixed-window", limit: 1, window: "1m" } as const
    const name = freshName()
    // The last two read the same once namespace and key are joined.
    const pairs = [
      [name, "key"],
      [`${name}x`, "key"],
      [`${name}:`, "key"],
      [`${name}{}`, "key"],
      [`${name}:a`, "b"],
      [name, "a:b"],
    ] as const
    for (const [namespace, key] of pairs) {
      const counter = new Counter(store, limit, new Namespace(namespace))
      expectFields(await counter.check(second(1), 1, key), { allowed: true }, `first on ${namespace} ${key}`)
    }
    for (const [namespace, key] of pairs) {
      const counter = new Counter(store, limit, new Namespace(namespace))
      expectFields(
        await counter.check(second(1), 1, key),
        { allowed: false },
        `second on ${namespace} ${key}`,
      )
    }
  })

  test("a namespace found by another object of the same name is the same namespace", async (store) => {
    const counter = new Counter(store, { algorithm: "gcra", limit: 5, window: "1m" })
    await counter.check(second(1), 2)
    const twin = new Counter(
      store,
      { algorithm: "gcra", limit: 5, window: "1m" },
      new Namespace(counter.namespace.name),
    )
    expectFields(await twin.check(second(1), 1), { remaining: 2 }, "the same counter")
  })
}

function name(key: string): string {
  return JSON.stringify(key.length > 40 ? `${key.slice(0, 20)}…${key.slice(-5)} (${key.length})` : key)
}
