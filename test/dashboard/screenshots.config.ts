import { defineConfig, mergeConfig } from "vitest/config"
import config from "../../vitest.config.js"

// With the projects of the root configuration, all tests would run.
const { projects: _, ...test } = config.test ?? {}

/** `npm run screenshots` takes the pictures of the docs with the helpers of the dashboard's tests. */
export default mergeConfig(
  { ...config, test },
  defineConfig({
    test: { include: ["test/dashboard/screenshots.ts"], testTimeout: 300_000, hookTimeout: 120_000 },
  }),
)
