import { expect, it } from "vitest"
import { createLog, readableLine } from "./log.js"

function shown(fields: object, message: string): string {
  const lines: string[] = []
  const destination = { write: (line: string) => void lines.push(readableLine(line)) }
  createLog({ level: "info", destination }).warn(fields, message)
  return lines.join("")
}

it("has the time of day, the level, the message and its fields", () => {
  expect(shown({ rule: "login", retryAfterMs: 1_500, why: "two words" }, "denied")).toMatch(
    /^\d\d:\d\d:\d\d warn {2}denied {2}rule=login {2}retryAfterMs=1500 {2}why="two words"\n$/,
  )
})

it("is one line without control characters, whatever a client sends", () => {
  const line = shown({ path: "/a\u001b[31m\n12:00:00 error forged", key: "x\u2028y\u202e" }, "denied\nforged")
  expect(line.trimEnd().split(/[\r\n\u2028\u2029]/)).toHaveLength(1)
  expect(line.trimEnd()).not.toMatch(/[\p{Cc}\p{Cf}]/u)
})

it("shows no secret", () => {
  expect(shown({ secret: "hunter2", headers: { cookie: "hunter2" } }, "x")).not.toContain("hunter2")
})
