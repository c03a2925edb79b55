import fc from "fast-check"
import { describe, expect, it } from "vitest"
import { parse } from "yaml"
import { writeYaml } from "./write-yaml.js"

/** A lone surrogate, which does not occur in real text. */
const LONELY_HALF = /\p{Surrogate}/u

describe("written YAML", () => {
  it("has the style of the documentation", () => {
    const rule = {
      id: "login",
      description: "Slow down password guessing. The log is exact, so the sixth is denied.",
      match: { method: "POST", path: "/login" },
      keyBy: ["user", "route"],
      limits: [{ algorithm: "sliding-window-log", limit: 5, window: "15m" }],
      tiers: { pro: { limits: [{ limit: 100, window: "1s" }] } },
      mode: "off",
    }
    expect(writeYaml(rule)).toBe(`id: login
description: Slow down password guessing. The log is exact, so the sixth is denied.
match: { method: POST, path: /login }
keyBy: [user, route]
limits: [{ algorithm: sliding-window-log, limit: 5, window: 15m }]
tiers:
  pro:
    limits: [{ limit: 100, window: 1s }]
mode: off
`)
  })

  it("puts each map of a list on its own line", () => {
    expect(
      writeYaml({
        limits: [
          { limit: 1, window: "1s" },
          { limit: 9, window: "1h" },
        ],
      }),
    ).toBe("limits:\n  - { limit: 1, window: 1s }\n  - { limit: 9, window: 1h }\n")
  })

  it("quotes text that would otherwise be another value", () => {
    expect(writeYaml({ a: ["x,y", "true", "1.10", "", "a: b", "- c", "ip:10.0.0.0/8", "off"] })).toBe(
      'a: ["x,y", "true", "1.10", "", "a: b", "- c", ip:10.0.0.0/8, off]\n',
    )
    expect(writeYaml({ a: "x,y", b: "no", c: "1m" })).toBe('a: x,y\nb: "no"\nc: 1m\n')
  })

  it("parses to the same value, for any value", () => {
    const text = fc.oneof(
      fc.string({ unit: "binary", maxLength: 20 }).filter((given) => !LONELY_HALF.test(given)),
      fc
        .array(
          fc.constantFrom(
            "a",
            " ",
            ":",
            "#",
            "-",
            "1",
            ",",
            "{",
            "[",
            "'",
            '"',
            "*",
            "\n",
            "é",
            "~",
            ".",
            "e",
            "0x",
          ),
          { maxLength: 8 },
        )
        .map((parts) => parts.join("")),
      fc.constantFrom(
        "true",
        "No",
        "off",
        "1e3",
        "0o7",
        ".inf",
        "null",
        "<<",
        "=",
        "",
        "1m",
        "12:30",
        "2026-12-31",
        "/v1/**",
        "header:x",
        "ip:10.0.0.0/8",
        "<img src=x onerror=alert(1)>",
      ),
    )
    const { value } = fc.letrec((tie) => ({
      value: fc.oneof(
        { depthSize: "small" },
        text,
        fc.integer(),
        fc.double({ noNaN: true, noDefaultInfinity: true }).filter((number) => !Object.is(number, -0)),
        fc.boolean(),
        fc.constant(null),
        fc.array(tie("value"), { maxLength: 4 }),
        fc.dictionary(
          text.filter((name) => name !== "__proto__" && name !== "<<"),
          tie("value"),
          { maxKeys: 4 },
        ),
      ),
    }))
    fc.assert(
      fc.property(value, (given) => {
        expect(parse(writeYaml(given))).toEqual(withoutNullPrototype(given))
      }),
      { numRuns: 500 },
    )
  })
})

function withoutNullPrototype(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value))
}
