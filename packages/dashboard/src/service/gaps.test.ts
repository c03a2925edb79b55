import { describe, expect, it } from "vitest"
import { Gaps } from "./gaps.js"

const known = (gaps: Gaps) => [98, 99, 100, 101, 102, 103, 104].filter((second) => !gaps.has(second))

describe("Gaps", () => {
  it("leaves everything after the loss unknown until the service answers again", () => {
    const gaps = new Gaps()
    gaps.open(100)
    expect(known(gaps)).toEqual([98, 99])
  })

  it("has no gap if the service kept running: it still knows what the page missed", () => {
    const gaps = new Gaps()
    gaps.open(100)
    gaps.close(50)
    expect(known(gaps)).toEqual([98, 99, 100, 101, 102, 103, 104])
  })

  it("keeps the gap up to the start of a service that was restarted", () => {
    const gaps = new Gaps()
    gaps.open(100)
    gaps.close(103)
    expect(known(gaps)).toEqual([98, 99, 103, 104])
  })

  it("keeps an earlier gap when another one opens, and opens one gap for one loss", () => {
    const gaps = new Gaps()
    gaps.open(99)
    gaps.close(100)
    gaps.open(103)
    gaps.open(104)
    expect(known(gaps)).toEqual([98, 100, 101, 102])
    gaps.close(99)
    expect(known(gaps)).toEqual([98, 99, 100, 101, 102, 103, 104])
  })
})
