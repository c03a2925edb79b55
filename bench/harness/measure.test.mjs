import { describe, expect, it } from "vitest"
import { timeCalls } from "./measure.mjs"

const keyAt = (/** @type {number} */ i) => `key:${i}`

describe("timeCalls", () => {
  it("makes exactly the calls asked for, in order, across several turns", async () => {
    /** @type {string[]} */
    const seen = []
    const check = (/** @type {string} */ key) => seen.push(key)
    const sample = await timeCalls({ check, isAllowed: () => true, awaited: false }, keyAt, 5, 25_003)
    expect(seen).toHaveLength(25_003)
    expect([seen[0], seen.at(-1)]).toEqual(["key:5", "key:25007"])
    expect(sample.allowedShare).toBe(1)
  })

  it("awaits one call before it makes the next", async () => {
    let running = 0
    let most = 0
    const check = async () => {
      most = Math.max(most, ++running)
      await undefined
      running--
      return most
    }
    await timeCalls({ check, isAllowed: () => true, awaited: true }, keyAt, 0, 100)
    expect(most).toBe(1)
  })

  it("counts a rejection as a denial, and an error as an error", async () => {
    const check = (/** @type {string} */ key) => (key === "key:0" ? Promise.resolve({}) : Promise.reject({}))
    const subject = { check, isAllowed: () => true, awaited: true, deniesByRejecting: true }
    expect((await timeCalls(subject, keyAt, 0, 4)).allowedShare).toBe(0.25)
    const broken = { ...subject, check: () => Promise.reject(new Error("broken")) }
    await expect(timeCalls(broken, keyAt, 0, 4)).rejects.toThrow("broken")
  })
})
