// Assembles the Lua parts into the one script Redis runs, with the digest EVALSHA knows it by.

import { createHash } from "node:crypto"
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { root } from "../root.mjs"

const folder = "packages/sluice/src/redis/scripts"

/** In the order of their dependence: Lua sees only what was defined before. */
const parts = [
  "uniform",
  "exact",
  "bucket",
  "fixed-window",
  "sliding-window-counter",
  "sliding-window-log",
  "block",
  "main",
]

export function generate() {
  const source = parts.map(read).join("")
  const digest = createHash("sha1").update(source).digest("hex")
  const content = `// Generated from scripts/*.lua by \`npm run generate\`. DO NOT EDIT.

export const SCRIPT_DIGEST = "${digest}"

export const SCRIPT = ${template(source)}

export const HEARTBEAT = ${template(read("heartbeat"))}
`
  return { "packages/sluice/src/redis/scripts.ts": content }
}

/** Comments stay in the parts: Redis gets the script over the wire after every NOSCRIPT. */
function read(part) {
  return readFileSync(join(root, folder, `${part}.lua`), "utf8")
    .split("\n")
    .filter((line) => line.trim() !== "" && !line.trim().startsWith("--"))
    .map((line) => `${line}\n`)
    .join("")
}

function template(source) {
  return `\`${source.replaceAll("\\", "\\\\").replaceAll("`", "\\`").replaceAll("${", "\\${")}\``
}
