import { expect, it } from "vitest"
import { readConfig } from "./config.js"

it("listens for this machine only, on port 8080, unless told otherwise", () => {
  expect(readConfig({})).toEqual({ host: "127.0.0.1", port: 8080 })
  expect(readConfig({ HOST: "", PORT: "" })).toEqual({ host: "127.0.0.1", port: 8080 })
  expect(readConfig({ HOST: "::1", PORT: "0" })).toEqual({ host: "::1", port: 0 })
})

it.each(["http", "-1", "80.5", "65536", "0x50"])("refuses PORT=%s and says what was found", (PORT) => {
  expect(() => readConfig({ PORT })).toThrow(`PORT must be a whole number from 0 to 65535, got "${PORT}"`)
})
