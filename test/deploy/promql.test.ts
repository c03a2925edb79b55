import { expect, it } from "vitest"
import { readQuery } from "./promql.js"

it("finds the metrics, matchers and groupings of an expression", () => {
  const query = readQuery(
    'sum by (job, le) (rate(a_total{kind=~"x|y",job="z"}[5m])) / ignoring (job) b > 0.5',
  )
  expect(query).toEqual({
    metrics: ["a_total", "b"],
    matchers: [
      { metric: "a_total", label: "kind", value: "x|y" },
      { metric: "a_total", label: "job", value: "z" },
    ],
    groupings: ["job", "le", "job"],
  })
})

it.each([
  ["sum(a", '")" is missing'],
  ["sum(a}", "does not fit"],
  ["average(a)", "no such function"],
  ["rate(a_total)", "a range has to follow"],
  ['rate(a_total{b="c"})', "a range has to follow"],
  ["sum(a[5m])", "a range that no function takes"],
  ["rate(a[5 minutes])", "not a range"],
  ["a{b}", "not a matcher"],
  ["sum > 1", "something in brackets has to follow"],
  ["a & b", "cannot read"],
])("refuses %s", (expression, message) => {
  expect(() => readQuery(expression)).toThrow(message)
})
