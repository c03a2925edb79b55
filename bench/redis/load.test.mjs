import { describe, expect, it } from "vitest"
import { load } from "./load.mjs"
import { parseCounters } from "./server-counters.mjs"
import { onUpstash } from "./upstash-client.mjs"

const keyAt = (/** @type {number} */ i) => `key:${i}`
const later = () => new Promise((resolve) => setImmediate(resolve))

describe("load", () => {
  it("keeps exactly that many checks in flight, and makes exactly those asked for", async () => {
    let running = 0
    let most = 0
    /** @type {Set<string>} */
    const keys = new Set()
    const check = async (/** @type {string} */ key) => {
      keys.add(key)
      most = Math.max(most, ++running)
      await later()
      running--
    }
    const result = await load({ check, isAllowed: () => true }, keyAt, { inFlight: 7, checks: 100 })
    expect([most, keys.size, result.checks, result.allowed]).toEqual([7, 100, 100, 100])
  })

  it("ends when its time is over", async () => {
    const result = await load({ check: later, isAllowed: () => true }, keyAt, { inFlight: 2, ms: 20 })
    expect(result.seconds).toBeGreaterThan(0.015)
  })

  it("counts a rejection as a denial, and an error as an error", async () => {
    const check = async (/** @type {string} */ key) => (key === "key:0" ? {} : Promise.reject({}))
    const subject = { check, isAllowed: () => true, deniesByRejecting: true }
    expect((await load(subject, keyAt, { inFlight: 2, checks: 4 })).allowed).toBe(1)
    const broken = { ...subject, check: () => Promise.reject(new Error("broken")) }
    await expect(load(broken, keyAt, { inFlight: 2, checks: 4 })).rejects.toThrow("broken")
  })
})

describe("parseCounters", () => {
  const cpu = "used_cpu_sys_main_thread:1.500000\r\nused_cpu_user_main_thread:2.000000\r\n"

  it("counts the command that checks are sent by, and not what a script does inside", () => {
    const info = `cmdstat_evalsha:calls=10,usec=50,x=1\r\ncmdstat_incr:calls=10,usec=9,x=1\r\n${cpu}`
    expect(parseCounters(info, "evalsha")).toEqual({ calls: 10, usec: 50, cpuMicros: 3_500_000 })
    expect(parseCounters(info, "incr")).toMatchObject({ calls: 10, usec: 9 })
    expect(parseCounters(info, "eval")).toMatchObject({ calls: 0, usec: 0 })
  })
})

describe("onUpstash", () => {
  it("runs a script without the flag that only Upstash's servers know, by the digest of the original", async () => {
    /** @type {unknown[]} */
    const sent = []
    const client = {
      script: async (/** @type {unknown[]} */ ...args) => sent.push(args) && "digest here",
      evalsha: async (/** @type {unknown[]} */ ...args) => sent.push(args),
    }
    const upstash = onUpstash(/** @type {any} */ (client))
    const source = "#!lua flags=allow-key-locking\nreturn 1"
    const digest = "2f1ac4b2"
    await expect(upstash.evalsha(digest, ["k"], [1])).rejects.toThrow("NOSCRIPT")
    await upstash.eval(source, ["k"], [1])
    expect(sent).toEqual([
      ["LOAD", "return 1"],
      ["digest here", 1, "k", 1],
    ])
  })
})
