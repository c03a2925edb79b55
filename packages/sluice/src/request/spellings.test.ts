import { afterAll, describe, expect, it } from "vitest"
import { KEY_BY, PLACES, seeded, spelling } from "../../../../test/support/spellings.js"
import { createRuleEngine, type RuleRequest } from "../rules/index.js"
import { apiKeyForm, authorizationForm, cookieForm, queryForm, UNCLEAR } from "./credential-form.js"

/** The lines as `node:http` hands them over. */
function headersOf(lines: readonly string[]): Record<string, string> {
  const headers: Record<string, string> = {}
  for (let i = 0; i < lines.length; i += 2) {
    const name = (lines[i] as string).toLowerCase()
    const value = (lines[i + 1] as string).trim()
    const before = headers[name]
    if (before === undefined) headers[name] = value
    else if (name !== "authorization") headers[name] = `${before}${name === "cookie" ? "; " : ", "}${value}`
  }
  return headers
}

describe("a credential in any spelling", () => {
  const engines = PLACES.map((place) => {
    const limits = [{ limit: 1_000_000, window: "1h" }]
    const rules = { version: 1 as const, rules: [{ id: "api", keyBy: KEY_BY[place], limits }] }
    return [place, createRuleEngine({ rules, secret: "s" })] as const
  })
  afterAll(async () => {
    await Promise.all(engines.map(([, engine]) => engine.close()))
  })

  const sources: [string, (lines: readonly string[]) => Partial<RuleRequest>][] = [
    ["header lines", (lines) => ({ headers: headersOf(lines), rawHeaders: lines })],
    [
      "a fetch Headers",
      (lines) => ({
        headers: new Headers(
          Array.from({ length: lines.length / 2 }, (_, i) => [
            lines[i * 2] as string,
            lines[i * 2 + 1] as string,
          ]),
        ),
      }),
    ],
  ]

  it.each(engines.flatMap(([place, engine]) => sources.map((source) => [place, ...source, engine] as const)))(
    "in %s, read from %s, has one key or is refused",
    (place, _, sourceOf, engine) => {
      const random = seeded(20_261_116)
      for (const credential of ["REAL", "user:p=ss", "a+b/c-d_e", "42"]) {
        const keys = new Set<string | undefined>()
        let refused = 0
        for (let i = 0; i < 600; i++) {
          const { target, lines } = spelling(place, credential, random)
          const decision = engine.checkSync({ path: target, ip: "203.0.113.7", ...sourceOf(lines) })
          if (decision.reason === "ambiguous-key") refused++
          else keys.add(decision.rules[0]?.key)
        }
        expect([...keys]).toHaveLength(1)
        expect([...keys][0]).not.toMatch(/^ip:/)
        expect(refused).toBeGreaterThan(0)
        expect(refused).toBeLessThan(600)
      }
    },
  )
})

describe("authorizationForm", () => {
  it.each([
    ["basic dXNlcjpw", "Basic dXNlcjpw"],
    ["BASIC dXNlcjpw", "Basic dXNlcjpw"],
    ["bAsic\tdXNlcjpw ", "Basic dXNlcjpw"],
    ["Basic dXNlcjpwdw", "Basic dXNlcjpwdw=="],
    ["Basic dXNlcjpwdw==", "Basic dXNlcjpwdw=="],
    ["Bearer  REAL", "bearer REAL"],
    ["bEaReR REAL", "bearer REAL"],
    ["REAL", "REAL"],
    ["Bearer", ""],
    ["basic ", ""],
    ['Digest username="a", uri="/"', 'digest username="a", uri="/"'],
  ])("has one form for %j", (value, form) => {
    expect(authorizationForm(value)).toBe(form)
  })

  it.each([
    ["Base64 with other characters in it", "Basic dXNl.cjpw"],
    ["Base64 with bits that mean nothing", "Basic dXNlcjpwdx=="],
    ["what is no Base64", "Basic §"],
    ["more behind the token", "Bearer REAL junk"],
    ["a signature with more at its end", "Bearer eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiI0MiJ9.QQ=="],
    ["a signature with another character in it", "Bearer eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiI0MiJ9.Q~Q"],
    ["a signature that was not issued so", "Bearer eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiI0MiJ9.QR"],
  ])("refuses %s", (_, value) => {
    expect(authorizationForm(value)).toBe(UNCLEAR)
  })

  it("takes a signature as it was issued", () => {
    const token = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiI0MiJ9.QQ"
    expect(authorizationForm(`Bearer ${token}`)).toBe(`bearer ${token}`)
  })
})

describe("apiKeyForm", () => {
  it.each(["REAL", "Bearer REAL", "bearer\t REAL", "ApiKey REAL", "TOKEN  REAL", " REAL "])(
    "takes %j for the key alone",
    (value) => {
      expect(apiKeyForm(value)).toBe("REAL")
    },
  )

  it("keeps the case of the key", () => {
    expect(apiKeyForm("Bearer real")).not.toBe(apiKeyForm("Bearer REAL"))
  })
})

describe("cookieForm", () => {
  it.each([
    ["sid=x", "x"],
    ['sid="x"', "x"],
    ["a=1;sid = x ;b=2", "x"],
    ["sid=RE%41L", "REAL"],
    ["sid=", ""],
    ['sid=""', ""],
    ["sid", undefined],
    ["SID=x", undefined],
    ['sid="x', '"x'],
    ['sid="a\\x"', UNCLEAR],
    ["sid=%ff", UNCLEAR],
    ["sid=a; sid=a", UNCLEAR],
  ])("reads %j", (header, form) => {
    expect(cookieForm(header, "sid", ";")).toBe(form)
  })
})

describe("queryForm", () => {
  it.each([
    ["k=REAL", "REAL"],
    ["K=RE%41L", "REAL"],
    ["%6b=a+b", "a b"],
    ["k", ""],
    ["k=", ""],
    ["kk=1", undefined],
    ["a=k", undefined],
    ["a=1;b=2&k=x", "x"],
    ["k=100%", UNCLEAR],
    ["k=a&k=a", UNCLEAR],
    ["k=a&K[0]=b", UNCLEAR],
    ["k=a;b", UNCLEAR],
  ])("reads %j", (query, form) => {
    expect(queryForm(query, "k")).toBe(form)
  })
})
