import { expect, it } from "vitest"
import { freeName, startedFrom } from "./candidates.js"

const YAML = `version: 1
rules:
  - id: limit-5
    description: "At most 7, limit: 7 a day"
    limits:
      - algorithm: token-bucket
        limit: 10
        window: 1s
        burst: 15
      - { name: daily, limit: 1, window: 1d }
    cost: 3
`

it("scales every limit and burst, and nothing else", () => {
  expect(startedFrom(YAML, "twice")).toBe(
    YAML.replace("limit: 10", "limit: 20")
      .replace("burst: 15", "burst: 30")
      .replace("limit: 1,", "limit: 2,"),
  )
})

it("keeps every limit at least 1", () => {
  expect(startedFrom(YAML, "half")).toBe(
    YAML.replace("limit: 10", "limit: 5").replace("burst: 15", "burst: 8"),
  )
})

it("copies the rules in force unchanged", () => {
  expect(startedFrom(YAML, "copy")).toBe(YAML)
})

it("numbers names that are taken", () => {
  expect(freeName("Half", ["In force"])).toBe("Half")
  expect(freeName("Half", ["Half", "Half 2"])).toBe("Half 3")
})
