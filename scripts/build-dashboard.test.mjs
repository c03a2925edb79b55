import { statSync } from "node:fs"
import { join } from "node:path"
import { expect, it } from "vitest"
import { buildDashboard } from "./build-dashboard.mjs"
import { root } from "./root.mjs"

it("builds the dashboard again only if its sources changed", { timeout: 60_000 }, () => {
  const index = join(root, "packages", "dashboard", "dist", "index.html")
  expect(buildDashboard()).toBe(true)
  const { ino, mtimeMs } = statSync(index)
  expect(buildDashboard()).toBe(true)
  expect(statSync(index)).toMatchObject({ ino, mtimeMs })
})
