import { expect, it } from "vitest"
import { sandboxRoot } from "../sandbox.js"
import { startRing } from "./ring.js"

it("starts servers that do not know each other, and stops them all", async () => {
  const { servers, url, stop } = await startRing(3)
  await servers[0]?.cli("SET", "key", "here only")
  const values = await Promise.all(servers.map((server) => server.cli("GET", "key")))
  expect(values).toEqual(["here only", null, null])
  expect(url).toBe(`redis+ring://${servers.map(({ port }) => `127.0.0.1:${port}`).join(",")}`)
  await stop()
  expect(servers.some((server) => server.running)).toBe(false)
  expect(sandboxRoot()).toBeUndefined()
})
