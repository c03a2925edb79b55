import { defineConfig } from "vitest/config"
import everyTest from "../../vitest.config.js"

// Not among the default tests: h2spec needs Go, and npm test must work where only npm and Debian's packages do.
export default defineConfig({
  ...(everyTest.resolve === undefined ? {} : { resolve: everyTest.resolve }),
  test: {
    setupFiles: ["test/support/leave-no-trace.ts"],
    include: ["test/h2spec/h2spec-checks.ts"],
    testTimeout: 300_000,
  },
})
