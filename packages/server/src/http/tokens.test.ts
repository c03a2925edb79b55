import { describe, expect, it } from "vitest"
import { hashToken, newToken, Tokens } from "./tokens.js"

describe("Tokens", () => {
  it("finds the name of a token, configured in clear or as a hash", () => {
    const [alice, bob, carol] = [newToken(), newToken(), newToken()]
    const tokens = new Tokens(
      [
        { name: "alice", role: "admin", token: alice },
        { name: "bob", role: "reader", hash: hashToken(bob) },
        { name: "carol", role: "editor", hash: hashToken(carol).slice("sha256:".length).toUpperCase() },
      ],
      "control.tokens",
    )
    expect(tokens.find(alice)).toMatchObject({ name: "alice", role: "admin" })
    expect(tokens.find(bob)).toMatchObject({ name: "bob", role: "reader" })
    expect(tokens.find(carol)).toMatchObject({ name: "carol", role: "editor" })
    expect(tokens.find(newToken())).toBeUndefined()
    expect(tokens.find(hashToken(bob))).toBeUndefined()
  })

  it("hashes as sha256sum does", () => {
    expect(hashToken("sluice")).toMatch(/^sha256:[0-9a-f]{64}$/)
    expect(hashToken("")).toBe("sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855")
  })

  it.each([
    [{ token: "short" }, "control.tokens[0].token"],
    [{ hash: "sha256:1234" }, "control.tokens[0].hash"],
    [{ hash: `md5:${"0".repeat(64)}` }, "control.tokens[0].hash"],
    [{}, "control.tokens[0].hash"],
  ])("refuses %j and never shows it", (spec, place) => {
    const make = () => new Tokens([{ name: "alice", role: "admin", ...spec }], "control.tokens")
    expect(make).toThrow(expect.objectContaining({ code: "TOKEN_INVALID", place, found: undefined }))
  })

  it("generates different tokens of 256 bits", () => {
    const made = new Set(Array.from({ length: 100 }, newToken))
    expect(made.size).toBe(100)
    for (const token of made) expect(token).toMatch(/^sluice_[\w-]{43}$/)
  })
})
