import { describe, expect, it } from "vitest"
import { deciding } from "./decisions.test-support.js"
import { History } from "./history.js"
import { Tally } from "./tally.js"

const RULES = `
version: 1
rules:
  - { id: api, keyBy: user, match: { path: /api/** }, limits: [{ limit: 3, window: 1m, algorithm: fixed-window }] }
  - { id: login, match: { path: /login }, limits: [{ limit: 1, window: 1m }], mode: shadow }
`
const NOW = 1_767_225_600_500
const TOOK = { p50Ms: 0.025, p99Ms: 0.1 }

function tallyOf(paths: readonly string[]): Tally {
  const { decide } = deciding(RULES)
  const tally = new Tally(1_000)
  for (const path of paths)
    tally.count(decide({ path, user: "ann", ip: "203.0.113.1" }).decision, "http", 0.02)
  return tally
}

describe("the history", () => {
  it("has each second in its place, and zeros for seconds without decisions", () => {
    const history = new History()
    history.add(tallyOf(["/api/a", "/api/a", "/api/a", "/api/a"]), { at: NOW - 2_000, ...TOOK })
    history.add(tallyOf(["/login", "/login"]), { at: NOW, ...TOOK })
    const { from, seconds, requests, durations, rules } = history.report(NOW)
    expect([from, seconds]).toEqual([NOW - 500 - 899_000, 900])
    expect(requests.allowed.slice(-4)).toEqual([0, 3, 0, 2])
    expect(requests.denied.slice(-4)).toEqual([0, 1, 0, 0])
    expect(durations.p99Ms.slice(-4)).toEqual([0, 0.1, 0, 0.1])
    expect(rules.map(({ id }) => id)).toEqual(["api", "_none", "login"])
    expect(rules[0]?.denied.slice(-3)).toEqual([1, 0, 0])
    expect(rules[2]?.shadowDenied.slice(-3)).toEqual([0, 0, 1])
  })

  it("covers 15 minutes", () => {
    const history = new History()
    history.add(tallyOf(["/login"]), { at: NOW, ...TOOK })
    expect(history.report(NOW + 899_000).requests.allowed[0]).toBe(1)
    const later = history.report(NOW + 900_000)
    expect(later.requests.allowed.every((count) => count === 0)).toBe(true)
    expect(later.rules).toEqual([])
  })

  it("holds no more seconds than it shows", () => {
    const history = new History()
    const tally = tallyOf(["/login"])
    for (let i = 0; i < 2_000; i++) history.add(tally, { at: NOW + i * 1_000, ...TOOK })
    const { requests } = history.report(NOW + 1_999_000)
    expect(requests.allowed).toEqual(new Array(900).fill(1))
  })

  it("shows at most fifty rules, and sums up the others", () => {
    const history = new History()
    for (let second = 0; second < 3; second++) {
      const tally = new Tally(1_000)
      for (let i = 0; i < 80; i++) tally.of(`rule-${second}-${i}`).allowed += i + 1
      history.add(tally, { at: NOW + second * 1_000, ...TOOK })
    }
    const { rules } = history.report(NOW + 2_000)
    expect(rules.length).toBeLessThanOrEqual(51)
    const sums = [0, 1, 2].map((second) =>
      rules.reduce((sum, { allowed }) => sum + allowed[897 + second]!, 0),
    )
    expect(sums).toEqual([3_240, 3_240, 3_240])
  })
})
