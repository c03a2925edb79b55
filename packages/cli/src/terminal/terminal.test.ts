import { expect, it } from "vitest"
import { plainStyle } from "../cli.test-support.js"
import { sparkline } from "./plot.js"
import { table } from "./table.js"
import { durationText, printable } from "./text.js"

it("a table has columns as wide as their widest cell, numbers to the right, and no trailing spaces", () => {
  const text = table(
    [
      { name: "a", count: 5 },
      { name: "longer", count: 1_000 },
    ],
    [
      { title: "N", text: ({ count }) => String(count), right: true },
      { title: "NAME", text: ({ name }) => name },
    ],
    plainStyle,
  )
  expect(text).toBe("   N  NAME\n   5  a\n1000  longer")
})

it("a table aligns wide characters, which take two columns, and marks, which take none", () => {
  const rows = ["漢字", "e\u0301", "🙂"].map((key) => ({ key }))
  const columns = [
    { title: "KEY", text: ({ key }: { key: string }) => key },
    { title: "N", text: () => "1" },
  ]
  expect(table(rows, columns, plainStyle)).toBe("KEY   N\n漢字  1\ne\u0301     1\n🙂    1")
})

it("printable escapes everything that a terminal would act on, and keeps other characters", () => {
  expect(printable("a\x1b[2J\r\nb\u202ec\x9b1m")).toBe("a\\x1b[2J\\x0d\\x0ab\\u202ec\\x9b1m")
  expect(printable("ä 漢 🙂")).toBe("ä 漢 🙂")
})

it("a duration shows its two largest units, rounded up", () => {
  expect(
    [0.2, 999, 1_000, 1_540, 59_001, 60_000, 899_629, 3_600_000, 3_690_000, 86_370_000, 90_061_000].map(
      durationText,
    ),
  ).toEqual(["1ms", "999ms", "1s", "1.6s", "1m", "1m", "15m", "1h", "1h 2m", "1d", "1d 2h"])
})

it("a sparkline is scaled to its largest value, and blank for zero", () => {
  expect(sparkline([0, 1, 4, 8], 10)).toBe(" ▁▄█")
  expect(sparkline([9, 0, 1], 2)).toBe(" █")
  expect(sparkline([0, 0], 2)).toBe("  ")
})
