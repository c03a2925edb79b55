import { describe, expect, it } from "vitest"
import { placeOf } from "./place.js"

/** The place of the ‸ in a text. */
function at(marked: string) {
  const cursor = marked.indexOf("‸")
  const place = placeOf(marked.replace("‸", ""), cursor)
  return (
    place && { path: place.path.join("."), at: place.at, typed: place.typed, taken: place.taken.join(",") }
  )
}

const entry = (path: string, typed = "", taken = "") => ({ path, at: "entry", typed, taken })
const value = (path: string, typed = "") => ({ path, at: "value", typed, taken: "" })

describe("a place in YAML", () => {
  it("is the start of a field name, by its column", () => {
    expect(at("‸")).toEqual(entry(""))
    expect(at("id: a\nmat‸")).toEqual(entry("", "mat", "id"))
    expect(at("match:\n  ‸")).toEqual(entry("match"))
    expect(at("match:\n  path: /\n  me‸")).toEqual(entry("match", "me", "path"))
    expect(at("match:\n  path: /\n‸")).toEqual(entry("", "", "match"))
  })

  it("is after the colon of a field", () => {
    expect(at("mode: ‸")).toEqual(value("mode"))
    expect(at("mode: sha‸")).toEqual(value("mode", "sha"))
    expect(at("match:\n  method: G‸")).toEqual(value("match.method", "G"))
    expect(at("match:\n  method: G‸\nid: a")).toEqual(value("match.method", "G"))
  })

  it("is in a list, with any indentation", () => {
    expect(at("limits:\n  - ‸")).toEqual(entry("limits.0"))
    expect(at("limits:\n- limit: 1\n- ‸")).toEqual(entry("limits.1"))
    expect(at("limits:\n  - limit: 1\n    win‸")).toEqual(entry("limits.0", "win", "limit"))
    expect(at("limits:\n  - limit: 1\n  - window: ‸")).toEqual(value("limits.1.window"))
    expect(at("limits:\n- limit: 1\nmo‸")).toEqual(entry("", "mo", "limits"))
    expect(at("keyBy:\n  - ip\n  - us‸")).toEqual(entry("keyBy.1", "us"))
  })

  it("is between brackets, also over several lines", () => {
    expect(at("limits: [{ ‸ }]")).toEqual(entry("limits.0"))
    expect(at("limits: [{ limit: 5, al‸ }]")).toEqual(entry("limits.0", "al", "limit"))
    expect(at("limits: [{ algorithm: gc‸ }]")).toEqual(value("limits.0.algorithm", "gc"))
    expect(at("limits: [{ limit: 5 }, {\n  ‸")).toEqual(entry("limits.1"))
    expect(at("method: [GET, ‸]")).toEqual(entry("method.1"))
    expect(at("match: { path: / }\nke‸")).toEqual(entry("", "ke", "match"))
  })

  it("knows the fields after it", () => {
    expect(at("id: a\n‸\nlimits: []\nmode: off")).toEqual(entry("", "", "id,limits,mode"))
    expect(at("limits: [{ ‸, window: 1m }]")).toEqual(entry("limits.0", "", "window"))
    expect(at("limits:\n  - limit: 1\n    ‸\n    window: 1m\nmode: off")).toEqual(
      entry("limits.0", "", "limit,window"),
    )
  })

  it("does not count the typed word as an existing field", () => {
    expect(at("id: a\nmode‸: off")).toEqual(entry("", "mode", "id"))
  })

  it("is undefined in a comment and in a block of text", () => {
    expect(at("a: 1 # mo‸")).toBeUndefined()
    expect(at("description: |\n  mo‸")).toBeUndefined()
  })

  it("is found inside the rules of a whole set", () => {
    const set =
      "version: 1\nrules:\n  - id: login\n    match: { method: POST }\n    limits:\n      - { limit: 5 }\n    ‸\n  - id: api\n"
    expect(at(set)).toEqual(entry("rules.0", "", "id,match,limits"))
    expect(at("rules:\n  - id: a\n  - id: b\n    mode: ‸")).toEqual(value("rules.1.mode"))
  })
})
