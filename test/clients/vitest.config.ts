import { defineConfig } from "vitest/config"
import everyTest from "../../vitest.config.js"

// Not among the default tests: Go is 250 MB, and npm test must work where only npm and Debian's packages do.
export default defineConfig({
  ...(everyTest.resolve === undefined ? {} : { resolve: everyTest.resolve }),
  test: {
    setupFiles: ["test/support/leave-no-trace.ts"],
    include: ["test/clients/clients-checks.ts"],
    testTimeout: 180_000,
  },
})
