// Runs before each test file. Files share a process, so a test that fails halfway must not leave its fake clock to the next.

import { afterEach, vi } from "vitest"

afterEach(() => {
  vi.useRealTimers()
  vi.restoreAllMocks()
  vi.unstubAllGlobals()
  vi.unstubAllEnvs()
})
