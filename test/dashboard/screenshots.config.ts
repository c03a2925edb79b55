import { defineConfig, mergeConfig } from "vitest/config"
import config from "../../vitest.config.js"

const { include: _, ...test } = config.test ?? {}

/** `npm run screenshots`: the pictures of the docs, made by what tests the dashboard. */
export default mergeConfig(
  { ...config, test },
  defineConfig({
    test: { include: ["test/dashboard/screenshots.ts"], testTimeout: 300_000, hookTimeout: 120_000 },
  }),
)
