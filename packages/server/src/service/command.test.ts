import { expect, it } from "vitest"
import { configSchema } from "../config/schema.js"
import { needsRestart } from "./command.js"

it("names the settings that need a restart, and no others", () => {
  const before = configSchema.parse({ gateway: { upstream: ["http://a:1"] } })
  const after = configSchema.parse({
    gateway: { upstream: ["http://b:1"], port: 9_000, routes: [{ upstream: "default", path: "/a" }] },
    workers: 2,
  })
  expect(needsRestart(before, before)).toEqual([])
  expect(needsRestart(before, after)).toEqual(["workers", "gateway.port"])
})
