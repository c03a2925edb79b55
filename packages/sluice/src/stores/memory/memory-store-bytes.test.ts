import fc from "fast-check"
import { describe, expect, it } from "vitest"
import { expectProperty, printSeed } from "../../algorithms/replay.test-support.js"
import { compilePolicy } from "../../policy.js"
import { ManualClock } from "../../testing/manual-clock.js"
import { Namespace } from "../store.js"
import { memoryStore } from "./memory-store.js"

printSeed()

const policy = compilePolicy({ limit: 1_000, window: "1h", algorithm: "gcra" }, "test")

function open() {
  const store = memoryStore({ clock: new ManualClock() })
  const namespace = new Namespace("test")
  return {
    store,
    ofText: (key: string) => store.checkOneSync(namespace, key, policy, 1).remaining,
    ofBytes: (bytes: Uint8Array, start = 0, end = bytes.length) =>
      store.checkBytesSync(namespace, bytes, start, end, policy, 1)?.remaining,
  }
}

describe("a key given as bytes", () => {
  it("uses the counter of the same text, and no other", () => {
    const ascii = fc.string({ unit: "binary-ascii", maxLength: 40 })
    expectProperty(fc.uniqueArray(ascii, { minLength: 2, maxLength: 20 }), 200, (texts) => {
      const { ofText, ofBytes } = open()
      for (const text of texts) expect(ofText(text)).toBe(999)
      for (const text of texts) expect(ofBytes(Buffer.from(text))).toBe(998)
      for (const text of texts) expect(ofText(text)).toBe(997)
    })
  })

  it("does not disturb checks of the text that was hashed last", () => {
    const { ofText, ofBytes } = open()
    expect(ofText("a")).toBe(999)
    expect(ofBytes(Buffer.from("b"))).toBe(999)
    expect(ofText("a")).toBe(998)
    expect(ofText("b")).toBe(998)
    expect(ofText("a")).toBe(997)
  })

  it("consists of the bytes between start and end only", () => {
    const { ofText, ofBytes } = open()
    expect(ofBytes(Buffer.from("$3\r\nabc\r\n"), 4, 7)).toBe(999)
    expect(ofText("abc")).toBe(998)
  })

  it("decides nothing when it is not ASCII", () => {
    const { store, ofBytes } = open()
    expect(ofBytes(Buffer.from("käse"))).toBeUndefined()
    expect(ofBytes(Buffer.from([0x61, 0x80]))).toBeUndefined()
    expect(store.stats.keys).toBe(0)
  })

  it("fails on a closed store as its text does", async () => {
    const { store, ofBytes } = open()
    await store.close()
    expect(() => ofBytes(Buffer.from("a"))).toThrow(expect.objectContaining({ code: "STORE_CLOSED" }))
  })
})
