// Keys, responses to denials, and the application's own functions.

import { expect, it } from "vitest"
import { createRuleEngine } from "../../rules/index.js"
import type { DecisionEvent } from "../core/rate-limit-options.js"
import {
  answerByPath,
  EXACT,
  type Open,
  statusAs,
  statuses,
  statusFrom,
  statusOfPath,
} from "./adapter-app.test-support.js"

/** What differs between frameworks. */
export interface ClientTraits {
  readonly answersText: boolean
  readonly resolvesDots: boolean
  readonly trustSetting: string | undefined
}

export function describeClients(open: Open, { answersText, resolvesDots, trustSetting }: ClientTraits): void {
  it("ignores forwarded addresses without trusted proxies", async () => {
    const url = await open({ limit: 1, ...EXACT })
    expect(await statusFrom(url, "203.0.113.1")).toBe(200)
    expect(await statusFrom(url, "203.0.113.2")).toBe(429)
  })

  it("warns once of X-Forwarded-For that no proxy is trusted to set, with the setting of the framework", async () => {
    const messages: string[] = []
    const logger = { warn: (message: string) => void messages.push(message) }
    const url = await open({ limit: 9, ...EXACT, logger })
    await statuses(url, 2)
    expect(messages).toEqual([])
    for (let i = 0; i < 2; i++) await statusFrom(url, "203.0.113.1")
    const own = trustSetting === undefined ? "" : `; or use the setting of the framework, ${trustSetting}`
    expect(messages).toEqual([expect.stringContaining(`or false if there is none${own} [FORWARDED_IGNORED]`)])
  })

  it("counts by the address from the nearest trusted proxy, and not by what the client wrote before it", async () => {
    const url = await open({ limit: 1, ...EXACT, trustProxy: 1 })
    expect(await statusFrom(url, "203.0.113.1")).toBe(200)
    expect(await statusFrom(url, "203.0.113.2")).toBe(200)
    expect(await statusFrom(url, "198.51.100.9, 203.0.113.2")).toBe(429)
  })

  it("counts the addresses of one IPv6 subnet together", async () => {
    const url = await open({ limit: 1, ...EXACT, trustProxy: 1, ipv6Subnet: 56 })
    expect(await statusFrom(url, "2001:db8:0:1::1")).toBe(200)
    expect(await statusFrom(url, "2001:db8:0:2::1")).toBe(429)
    expect(await statusFrom(url, "2001:db8:1::1")).toBe(200)
  })

  it("neither counts skipped requests nor adds headers to them", async () => {
    const url = await open({ limit: 1, ...EXACT, skip: () => true })
    expect(await statuses(url, 3)).toEqual([200, 200, 200])
    expect((await fetch(url)).headers.has("x-ratelimit-limit")).toBe(false)
  })

  it("does not limit requests without a key with onMissingKey skip", async () => {
    const url = await open({ limit: 1, ...EXACT, keyBy: "header:x-client", onMissingKey: "skip" })
    expect(await statuses(url, 2)).toEqual([200, 200])
    expect(await statusAs(url, "a")).toBe(200)
    expect(await statusAs(url, "a")).toBe(429)
  })

  // Some frameworks put a text into their own error object.
  if (answersText) {
    it("responds to a denial with the status and text of the options", async () => {
      const text = await open({ limit: 1, ...EXACT, status: 503, body: "slow down" })
      await fetch(text)
      const denied = await fetch(text)
      expect(denied.status).toBe(503)
      expect(denied.headers.get("content-type")).toMatch(/^text\/plain/)
      expect(await denied.text()).toBe("slow down")
    })
  }

  it("responds to a denial with the JSON of the options", async () => {
    const json = await open({
      limit: 1,
      ...EXACT,
      body: (_request, decision) => ({ limit: decision.limit }),
    })
    await fetch(json)
    const answer = await fetch(json)
    expect(answer.headers.get("content-type")).toMatch(/^application\/json/)
    expect(await answer.json()).toEqual({ limit: 1 })
  })

  it.each([
    ["legacy", ["x-ratelimit-limit", "x-ratelimit-remaining", "x-ratelimit-reset"]],
    ["draft-6", ["ratelimit-limit", "ratelimit-policy", "ratelimit-remaining", "ratelimit-reset"]],
    ["draft-7", ["ratelimit", "ratelimit-policy"]],
    ["draft-8", ["ratelimit", "ratelimit-policy"]],
    ["none", []],
  ] as const)("sets exactly the headers of %s", async (headers, names) => {
    const url = await open({ limit: 1, ...EXACT, headers })
    const set = [...(await fetch(url)).headers.keys()].filter((header) => header.includes("ratelimit"))
    expect(set.sort()).toEqual([...names])
  })

  it("keeps its headers on the framework's error response", async () => {
    const url = await open({ limit: 9, ...EXACT }, answerByPath)
    const failed = await fetch(`${url}/throw`)
    expect(failed.status).toBe(500)
    expect(failed.headers.get("x-ratelimit-remaining")).toBe("8")
  })

  it("calls onDecision with every decision", async () => {
    const events: DecisionEvent<object>[] = []
    const url = await open({
      limit: 1,
      ...EXACT,
      key: () => "me",
      onDecision(event) {
        events.push(event)
      },
    })
    expect(await statuses(url, 2)).toEqual([200, 429])
    expect(events).toMatchObject([
      { key: "me", decision: { allowed: true } },
      { key: "me", decision: { allowed: false } },
    ])
  })

  it("continues when onDecision throws", async () => {
    const warned = new Promise<Error>((resolve) => process.once("warning", resolve))
    const url = await open({
      limit: 1,
      ...EXACT,
      onDecision() {
        throw new Error("thrown by a listener on purpose")
      },
    })
    expect(await statuses(url, 1)).toEqual([200])
    expect((await warned).message).toBe("thrown by a listener on purpose")
  })

  it("passes an error of the key function to the framework and goes on serving", async () => {
    let calls = 0
    const url = await open({
      limit: 9,
      ...EXACT,
      key() {
        if (++calls === 1) throw new Error("no key today")
        return "me"
      },
    })
    expect(await statuses(url, 2)).toEqual([500, 200])
  })

  it("passes the error of an invalid key to the framework", async () => {
    const url = await open({ limit: 9, ...EXACT, key: async () => "" })
    expect(await statuses(url, 1)).toEqual([500])
  })

  it("responds 400 to a path that can be read in two ways when rules decide", async () => {
    const engine = createRuleEngine({
      rules: { version: 1, rules: [{ id: "all", limits: [{ limit: 3, ...EXACT }] }] },
    })
    const url = await open({ engine })
    const refused = await fetch(`${url}/a%2fb`)
    expect(refused.status).toBe(400)
    expect(refused.headers.get("content-type")).toMatch(/^application\/problem\+json/)
    expect(refused.headers.has("ratelimit")).toBe(false)
    await engine.close()
  })

  it("counts a path with dots by the path that the application sees, or refuses it", async () => {
    const engine = createRuleEngine({
      rules: {
        version: 1,
        rules: [{ id: "login", match: { path: "/login" }, limits: [{ limit: 1, ...EXACT }] }],
      },
    })
    const url = await open({ engine })
    const paths = ["/x/../login", "/x/%2e%2e/login", "/./login"]
    const seen: (number | undefined)[] = []
    for (const path of paths) seen.push(await statusOfPath(url, path))
    expect(seen).toEqual(resolvesDots ? [200, 429, 429] : [400, 400, 400])
    await engine.close()
  })
}
