// The matcher alone, which the library does not publish by itself: bundled from its sources, as the library is.

import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath, pathToFileURL } from "node:url"

/** @typedef {typeof import("../../packages/sluice/dist/rules/match/index.js")} Matching */

/** @returns {Promise<{ url: string, remove: () => void }>} */
export async function bundleMatcher() {
  // Not imported above, because the benchmark first installs and builds what it needs.
  const { build } = await import("rolldown")
  const folder = mkdtempSync(join(tmpdir(), "sluice-matcher-"))
  const file = join(folder, "matcher.mjs")
  await build({
    input: fileURLToPath(new URL("../../packages/sluice/src/rules/match/index.ts", import.meta.url)),
    platform: "neutral",
    external: /^node:/,
    transform: { target: "es2023" },
    tsconfig: false,
    output: { file, format: "esm" },
  })
  return { url: pathToFileURL(file).href, remove: () => rmSync(folder, { recursive: true, force: true }) }
}
