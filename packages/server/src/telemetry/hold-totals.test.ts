import { expect, it } from "vitest"
import { HoldTotals } from "./hold-totals.js"

const counts = (acquired: number, released: number, late = 0) =>
  new Map([["calls", { acquired, released, late }]])

it("adds up processes, keeps what an ended one has counted, and takes its successor from zero", () => {
  const totals = new HoldTotals()
  totals.set(1, counts(5, 3))
  totals.set(2, counts(2, 2, 1))
  totals.set(1, counts(6, 6))
  expect(totals.byRule.get("calls")).toEqual({ acquired: 8, released: 8, late: 1 })
  totals.delete(1)
  totals.set(1, counts(1, 0))
  expect(totals.byRule.get("calls")).toEqual({ acquired: 9, released: 8, late: 1 })
})
