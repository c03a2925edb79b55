import { describe, expect, it } from "vitest"
import { ClientTable } from "./client-table.js"
import { DistinctCount } from "./distinct-count.js"
import { RequestCounts } from "./request-counts.js"

const address = (i: number) => `10.${i >> 16}.${(i >> 8) & 255}.${i & 255}`

describe("a table of clients", () => {
  it("keeps the most denied clients when there are too many, and reports that it estimates", () => {
    const table = new ClientTable(1, { clients: 1_000, hurt: 100 })
    const asks = (who: { ip?: string; user?: string }, isDenied: boolean, at: number) => {
      table.request(who)
      if (isDenied) table.denied(who, 0, at)
    }
    for (let i = 0; i < 50; i++) asks({ ip: "192.0.2.1" }, i % 2 === 0, 1_000 + i)
    for (let i = 0; i < 5_000; i++) asks({ ip: address(i) }, true, 2_000)
    for (let i = 0; i < 3; i++) asks({ user: "frank", ip: "192.0.2.9" }, true, 9_000)
    expect(table.clients.exact).toBe(false)
    expect(Math.abs(table.clients.count - 5_002)).toBeLessThan(150)
    const { clients, most } = table.hurtBy(0)
    expect(clients.exact).toBe(false)
    expect(Math.abs(clients.count - 5_002)).toBeLessThan(150)
    expect(most.slice(0, 2)).toEqual([
      { client: "ip:192.0.2.1", requests: 50, denied: 25, firstDenied: 1_000, lastDenied: 1_048 },
      { client: "user:frank", requests: 3, denied: 3, firstDenied: 9_000, lastDenied: 9_000 },
    ])
  })

  it("distinguishes users, addresses and other names with the same text", () => {
    const table = new ClientTable(1)
    for (const who of [{ user: "a" }, { ip: "a" }, { client: "a" }, {}]) table.request(who)
    expect(table.clients).toEqual({ count: 4, exact: true })
  })
})

describe("counts of requests", () => {
  it("equal those of a Map, for any number of clients", () => {
    const counts = new RequestCounts()
    const map = new Map<string, number>()
    for (let i = 0; i < 200_000; i++) {
      const name = address((i * 7_919) % (i % 3 === 0 ? 50 : 40_000))
      counts.add(name)
      map.set(name, (map.get(name) ?? 0) + 1)
    }
    expect(counts.size).toBe(map.size)
    expect([...map].filter(([name, count]) => counts.of(name) !== count)).toEqual([])
    expect(counts.of("192.0.2.1")).toBe(0)
  })
})

describe("a count of different texts", () => {
  it.each([10, 1_000, 50_000, 300_000])("is within 3%% of %d", (size) => {
    const count = new DistinctCount()
    for (let round = 0; round < 2; round++) for (let i = 0; i < size; i++) count.add(`ip:${address(i)}`)
    expect(Math.abs(count.estimate / size - 1)).toBeLessThan(0.03)
  })
})
