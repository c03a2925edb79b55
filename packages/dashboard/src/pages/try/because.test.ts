import { createRuleEngine } from "sluice/rules"
import { expect, it, vi } from "vitest"

vi.stubGlobal("navigator", { languages: ["zh-CN"] })
const { becauseText } = await import("./because.js")
const { language } = await import("../../browser/i18n.js")

const engine = createRuleEngine({
  rules: `
version: 1
tiers: { gold: ["user:gold"] }
overrides: [{ client: "user:free", limits: unlimited }]
rules:
  - { id: all, limits: [{ limit: 5, window: 1m }] }
  - { id: path, match: { path: /v1/** }, limits: [{ limit: 5, window: 1m }], tiers: { gold: unlimited } }
  - { id: method, match: { method: GET }, limits: [{ limit: 5, window: 1m }] }
  - { id: both, match: { method: GET, host: a.example.com }, limits: [{ limit: 5, window: 1m }] }
  - { id: header, match: { header: { x-beta: "yes", authorization: "Bearer*" } }, limits: unlimited }
  - { id: off, mode: off, limits: unlimited }
  - { id: unlimited, limits: unlimited, deny: ["user:bad"], allow: ["user:good"] }
  - { id: replaced, limits: unlimited }
  - { id: replacer, replaces: [replaced], keyBy: user, onMissingKey: skip, limits: [{ limit: 5, window: 1m }] }
  - { id: strict, keyBy: user, onMissingKey: deny, limits: [{ limit: 5, window: 1m }] }
`,
})

it("translates every reason of the service", async () => {
  const client = { ip: "192.0.2.1" }
  const requests = [
    { method: "GET", path: "/v1/x", host: "a.example.com", user: "good", ...client },
    { method: "POST", path: "/", host: "b", user: "bad", headers: { authorization: "Basic x" }, ...client },
    { method: "GET", path: "/v1/x", user: "gold", headers: { "x-beta": "no" }, ...client },
    { method: "GET", path: "/v1/x", user: "free", headers: { "x-beta": "yes" }, ...client },
    { path: "/v1/x", ...client },
  ]
  const reasons = new Set<string>()
  for (const request of requests)
    for (const { because } of (await engine.explain(request)).rules) reasons.add(because)
  expect(reasons.size).toBeGreaterThan(14)
  for (const reason of reasons)
    expect([reason, becauseText(reason)]).toEqual([reason, expect.stringMatching(/\p{Script=Han}/u)])
  await engine.close()
})

it("keeps an unknown reason, and translates nothing in English", () => {
  expect(becauseText("the moon is full")).toBe("the moon is full")
  language.value = "en"
  expect(becauseText("it is off")).toBe("it is off")
})
