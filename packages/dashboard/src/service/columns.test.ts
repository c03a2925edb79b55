import { describe, expect, it } from "vitest"
import { Columns } from "./columns.js"

const NOW = 1_767_225_600

describe("numbers by the second", () => {
  it("are zero for seconds without a report", () => {
    const columns = new Columns(["denied"], 10)
    columns.set(NOW - 3, { denied: 7 })
    expect(columns.read("denied", NOW, 5)).toEqual([0, 7, 0, 0, 0])
  })

  it("forget what is older than their size, also without new reports", () => {
    const columns = new Columns(["denied"], 5)
    columns.set(NOW, { denied: 7 })
    expect(columns.read("denied", NOW + 4, 5)).toEqual([7, 0, 0, 0, 0])
    expect(columns.read("denied", NOW + 5, 5)).toEqual([0, 0, 0, 0, 0])
    expect(columns.read("denied", NOW + 500, 5)).toEqual([0, 0, 0, 0, 0])
  })

  it("accept a late second, unless it is too old", () => {
    const columns = new Columns(["denied"], 3)
    columns.set(NOW, { denied: 3 })
    columns.set(NOW - 2, { denied: 1 })
    columns.set(NOW - 3, { denied: 9 })
    expect(columns.read("denied", NOW, 3)).toEqual([1, 0, 3])
  })

  it("are zero before the oldest second", () => {
    const columns = new Columns(["denied"], 3)
    columns.set(NOW, { denied: 3 })
    expect(columns.read("denied", NOW, 5)).toEqual([0, 0, 0, 0, 3])
  })

  it("sum up over several seconds", () => {
    const columns = new Columns(["allowed", "denied"], 60)
    for (let i = 0; i < 10; i++) columns.set(NOW - i, { allowed: 2, denied: 1 })
    expect([columns.sum("allowed", NOW, 5), columns.sum("denied", NOW, 60)]).toEqual([10, 10])
  })
})
