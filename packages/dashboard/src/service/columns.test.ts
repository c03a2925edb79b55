import { describe, expect, it } from "vitest"
import { Columns } from "./columns.js"

const NOW = 1_767_225_600

describe("numbers by the second", () => {
  it("are zero where nothing was said", () => {
    const columns = new Columns(["denied"], 10)
    columns.set(NOW - 3, { denied: 7 })
    expect(columns.read("denied", NOW, 5)).toEqual([0, 7, 0, 0, 0])
  })

  it("forget what is a round ago, also when nothing came since", () => {
    const columns = new Columns(["denied"], 5)
    columns.set(NOW, { denied: 7 })
    expect(columns.read("denied", NOW + 4, 5)).toEqual([7, 0, 0, 0, 0])
    expect(columns.read("denied", NOW + 5, 5)).toEqual([0, 0, 0, 0, 0])
    expect(columns.read("denied", NOW + 500, 5)).toEqual([0, 0, 0, 0, 0])
  })

  it("take a second that comes late, unless its place is gone", () => {
    const columns = new Columns(["denied"], 3)
    columns.set(NOW, { denied: 3 })
    columns.set(NOW - 2, { denied: 1 })
    columns.set(NOW - 3, { denied: 9 })
    expect(columns.read("denied", NOW, 3)).toEqual([1, 0, 3])
  })

  it("are zero before the first second that is kept", () => {
    const columns = new Columns(["denied"], 3)
    columns.set(NOW, { denied: 3 })
    expect(columns.read("denied", NOW, 5)).toEqual([0, 0, 0, 0, 3])
  })

  it("add up over a while", () => {
    const columns = new Columns(["allowed", "denied"], 60)
    for (let i = 0; i < 10; i++) columns.set(NOW - i, { allowed: 2, denied: 1 })
    expect([columns.sum("allowed", NOW, 5), columns.sum("denied", NOW, 60)]).toEqual([10, 10])
  })
})
