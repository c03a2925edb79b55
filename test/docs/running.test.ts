import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { expect, it } from "vitest"
import { readConfig } from "../../packages/server/src/config/read.js"
import { readPage } from "./examples.js"

it("docs/running.md shows a configuration that is one", () => {
  const text = /^```yaml\n([\s\S]*?)^```/m.exec(readPage("docs/running.md"))?.[1] as string
  const folder = mkdtempSync(join(tmpdir(), "sluice-docs-"))
  writeFileSync(join(folder, "sluice.config.yaml"), text)
  const { config } = readConfig({ folder })
  expect(config).toMatchObject({
    resp: { enabled: true },
    drain: { delay: 5_000 },
    rules: { file: join(folder, "rules.yaml") },
  })
  rmSync(folder, { recursive: true })
})
