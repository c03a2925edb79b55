import { defineConfig } from "vitest/config"
import everyTest from "../../vitest.config.js"

// Not among the default tests: Envoy is 100 MB, and npm test must work where only npm and Debian's packages do.
export default defineConfig({
  ...(everyTest.resolve === undefined ? {} : { resolve: everyTest.resolve }),
  test: {
    setupFiles: ["test/support/leave-no-trace.ts"],
    include: ["test/envoy/envoy-checks.ts"],
    testTimeout: 60_000,
  },
})
