import { expect, it } from "vitest"
import { printable } from "./printable.js"
import { sparkline } from "./sparkline.js"
import { createStyle } from "./style.js"
import { table } from "./table.js"
import { durationText } from "./words.js"

it("a table is as wide as what is in it, with numbers at the right and no space at the end", () => {
  const text = table(
    [
      { name: "a", count: 5 },
      { name: "longer", count: 1_000 },
    ],
    [
      { title: "N", text: ({ count }) => String(count), right: true },
      { title: "NAME", text: ({ name }) => name },
    ],
    createStyle(false),
  )
  expect(text).toBe("   N  NAME\n   5  a\n1000  longer")
})

it("nothing in a text from elsewhere reaches the terminal as a command", () => {
  expect(printable("a\x1b[2J\r\nb\u202ec\x9b1m")).toBe("a\\x1b[2J\\x0d\\x0ab\\u202ec\\x9b1m")
  expect(printable("ä 漢 🙂")).toBe("ä 漢 🙂")
})

it("a duration has its two largest units, and never less than is left", () => {
  expect([0.2, 999, 1_000, 1_540, 59_001, 60_000, 899_629, 3_600_000, 90_061_000].map(durationText)).toEqual([
    "1ms",
    "999ms",
    "1s",
    "1.6s",
    "1m",
    "1m",
    "15m",
    "1h",
    "1d 1h",
  ])
})

it("a plot is as high as its largest value, and blank where there is nothing", () => {
  expect(sparkline([0, 1, 4, 8], 10)).toBe(" ▁▄█")
  expect(sparkline([9, 0, 1], 2)).toBe(" █")
  expect(sparkline([0, 0], 2)).toBe("  ")
})
