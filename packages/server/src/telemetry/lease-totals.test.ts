import { expect, it } from "vitest"
import { LeaseTotals } from "./lease-totals.js"

function stats(
  numbers: Partial<Record<"keys" | "held" | "spent" | "wasted" | "answered" | "calls", number>>,
) {
  const none = { keys: 0, held: 0, spent: 0, returned: 0, wasted: 0, answered: 0, calls: 0, callsSaved: 0 }
  return { ...none, ...numbers }
}

it("has no state before a process with leases reports", () => {
  expect(new LeaseTotals().state()).toBeUndefined()
})

it("adds up the processes, and keeps the counts of those that have ended", () => {
  const totals = new LeaseTotals()
  totals.set(1, stats({ keys: 2, held: 5, spent: 10, answered: 10, calls: 3 }))
  totals.set(2, stats({ keys: 1, held: 7, spent: 4, answered: 4, calls: 1 }))
  totals.set(1, stats({ keys: 1, held: 1, spent: 30, answered: 30, calls: 5 }))
  expect(totals.state()).toMatchObject({ keys: 2, held: 8, spent: 34, answered: 34, calls: 6 })
  totals.delete(1)
  expect(totals.state()).toMatchObject({ keys: 1, held: 7, spent: 34, answered: 34, calls: 6 })
  // A new worker with the number of an old one starts from zero.
  totals.set(1, stats({ spent: 2 }))
  expect(totals.state()).toMatchObject({ spent: 36 })
})

it("never lets a counter go back", () => {
  const totals = new LeaseTotals()
  totals.set(1, stats({ wasted: 5 }))
  totals.set(1, stats({ wasted: 3 }))
  expect(totals.state()).toMatchObject({ wasted: 5 })
  totals.set(1, stats({ wasted: 6 }))
  expect(totals.state()).toMatchObject({ wasted: 6 })
})
