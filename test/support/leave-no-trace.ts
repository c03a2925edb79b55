// Vitest runs this set-up file before each test file. Test files share a process, so a test that fails halfway must not leave
// a fake clock or an open resource to the next test.

import { afterAll, afterEach, vi } from "vitest"
import { closeAll } from "./after-this.js"

afterEach(async () => {
  vi.useRealTimers()
  vi.restoreAllMocks()
  vi.unstubAllGlobals()
  vi.unstubAllEnvs()
  await closeAll()
})

// @hono/node-server replaces these globals with its own classes.
const { Request, Response } = globalThis
afterAll(() => {
  Object.defineProperty(globalThis, "Request", { value: Request })
  Object.defineProperty(globalThis, "Response", { value: Response })
})
