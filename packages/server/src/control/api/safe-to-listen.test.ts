import { describe, expect, it } from "vitest"
import { isLoopback } from "../../http/origin.js"
import { assertSafeToListen } from "./access.js"

const tokens = [{ name: "alice", role: "admin", token: "0123456789abcdef" }] as const

describe("assertSafeToListen", () => {
  it.each(["127.0.0.1", "127.8.8.8", "::1", "[::1]", "localhost", "LOCALHOST", "::ffff:127.0.0.1"])(
    "allows listening on %s without tokens",
    (host) => {
      expect(() => assertSafeToListen(host, [])).not.toThrow()
    },
  )

  it.each([
    "0.0.0.0",
    "::",
    "",
    "192.168.1.2",
    "example.com",
    "127.0.0.1.example.com",
    "localhost.example.com",
    "128.0.0.1",
  ])("refuses %j without tokens, and allows it with one", (host) => {
    expect(() => assertSafeToListen(host, [])).toThrow(expect.objectContaining({ code: "LISTEN_UNSAFE" }))
    expect(() => assertSafeToListen(host, tokens)).not.toThrow()
  })
})

it("takes names under .localhost as this machine, and no other similar names", () => {
  expect(isLoopback("app.localhost")).toBe(true)
  expect(isLoopback("notlocalhost")).toBe(false)
  expect(isLoopback("127.0.0.1@evil.example")).toBe(false)
})
