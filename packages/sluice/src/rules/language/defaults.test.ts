import { expect, it } from "vitest"
import { ManualClock } from "../../testing/manual-clock.js"
import { createRuleEngine } from "../engine/engine.js"
import { parseRuleSet } from "./parse.js"

function messagesOf(text: string): string {
  try {
    parseRuleSet(text)
    return ""
  } catch (error) {
    return (error as Error).message
  }
}

it("limit and window of defaults hold for limits that do not set them, in rules, tiers and overrides", async () => {
  const rules = `
version: 1
defaults: { limit: 3, window: 10s, algorithm: fixed-window }
tiers: { gold: ["user:ann"] }
overrides: [{ client: "user:bob", limits: [{ window: 1h }] }]
rules:
  - id: all
    keyBy: user
    limits: [{}]
    tiers: { gold: { limits: [{ limit: 7 }] } }
`
  const engine = createRuleEngine({ rules, clock: new ManualClock() })
  const seen = ["carl", "ann", "bob"].map((user) => {
    const { limit, windowMs } = engine.checkSync({ user })
    return { limit, windowMs }
  })
  expect(seen).toEqual([
    { limit: 3, windowMs: 10_000 },
    { limit: 7, windowMs: 10_000 },
    { limit: 3, windowMs: 3_600_000 },
  ])
  await engine.close()
})

it("a limit without its numbers, of its own or by default, is a problem at its place", () => {
  const text = (defaults: string) => `
version: 1
defaults: ${defaults}
rules: [{ id: a, limits: [{ name: x }] }]
`
  expect(messagesOf(text("{ limit: 3, window: 1m }"))).toBe("")
  expect(messagesOf(text("{ window: 1m }"))).toContain("limits[0].limit is required and must be an integer")
  expect(messagesOf(text("{ limit: 3 }"))).toContain("limits[0].window is required and must be a duration")
})

it("a wrong default is reported once, at its place", () => {
  const wrong = messagesOf(`
version: 1
defaults: { limit: 0, window: 1m }
rules: [{ id: a, limits: [{}] }, { id: b, limits: [{}] }]
`)
  expect(wrong).toContain("defaults.limit must be an integer ≥ 1")
  expect(wrong).not.toContain("limits[0]")
})
