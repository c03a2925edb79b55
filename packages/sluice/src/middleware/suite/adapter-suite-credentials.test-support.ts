// Credentials that are sent twice or in another spelling.

import { expect, it } from "vitest"
import { KEY_BY, PLACES, seeded, spelling } from "../../../../../test/support/spellings.js"
import { createRuleEngine } from "../../rules/index.js"
import { EXACT, type Open, sendLines } from "./adapter-app.test-support.js"

const LIMIT = 3

export function describeCredentials(open: Open): void {
  it.each<[string, string, (junk: string) => string[], (junk: string) => string]>([
    ["an API key in a header", "apiKey", (junk) => ["X-Api-Key", "REAL", "X-Api-Key", junk], () => "/"],
    ["an API key in the query", "query:api_key", () => [], (junk) => `/?API_KEY=${junk}&api_key=REAL`],
    ["a cookie", "cookie:sid", (junk) => ["Cookie", `sid=${junk}; sid=REAL`], () => "/"],
    [
      "an authorization",
      "header:authorization",
      (junk) => ["Authorization", `Bearer ${junk}`, "Authorization", "Bearer REAL"],
      () => "/",
    ],
  ])("responds 400 to %s that was sent twice when rules count by it", async (_, keyBy, linesOf, targetOf) => {
    const limits = [{ limit: LIMIT, ...EXACT }]
    const engine = createRuleEngine({ rules: { version: 1, rules: [{ id: "api", keyBy, limits }] } })
    const url = await open({ engine })
    for (let i = 0; i < LIMIT + 2; i++) {
      const { status, body } = await sendLines(url, { target: targetOf(`j${i}`), lines: linesOf(`j${i}`) })
      expect(status).toBe(400)
      expect(JSON.parse(body)).toMatchObject({
        code: "KEY_AMBIGUOUS",
        detail: expect.stringContaining("must be given once"),
      })
    }
    await engine.close()
  })

  it("responds 400 to a key header that was sent twice, and calls no handler", async () => {
    let handled = 0
    const url = await open({ limit: LIMIT, ...EXACT, keyBy: ["ip", "header:x-client"] }, () => {
      handled++
      return { status: 200, body: "" }
    })
    const twice = await sendLines(url, { target: "/", lines: ["X-Client", "a", "x-client", "b"] })
    expect(twice.status).toBe(400)
    expect(JSON.parse(twice.body)).toMatchObject({ code: "KEY_AMBIGUOUS" })
    expect(handled).toBe(0)
    const once = await sendLines(url, { target: "/", lines: ["X-Client", "a, b"] })
    expect(once.status).toBe(200)
  })

  it("allows no more than the limit, however a credential is spelled", async () => {
    const random = seeded(7)
    for (const place of PLACES) {
      const limits = [{ limit: LIMIT, ...EXACT }]
      const rules = [{ id: "api", keyBy: KEY_BY[place], limits }]
      const engine = createRuleEngine({ rules: { version: 1, rules } })
      const url = await open({ engine })
      let passed = 0
      for (let i = 0; i < 20; i++) {
        const { status } = await sendLines(url, spelling(place, "REAL", random))
        expect([200, 400, 429]).toContain(status)
        if (status === 200) passed++
      }
      expect(passed).toBe(LIMIT)
      await engine.close()
    }
  })
}
