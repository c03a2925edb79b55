// Runs before each test file. Files share a process, so a test that fails halfway must not leave its fake clock, or what it has opened, to the next.

import { afterAll, afterEach, vi } from "vitest"
import { closeAll } from "./after-this.js"

afterEach(async () => {
  vi.useRealTimers()
  vi.restoreAllMocks()
  vi.unstubAllGlobals()
  vi.unstubAllEnvs()
  await closeAll()
})

// @hono/node-server puts classes of its own in their place.
const { Request, Response } = globalThis
afterAll(() => {
  Object.defineProperty(globalThis, "Request", { value: Request })
  Object.defineProperty(globalThis, "Response", { value: Response })
})
