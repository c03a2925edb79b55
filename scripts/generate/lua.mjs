// Joins the Lua parts into the one script that Redis runs, with its digest for EVALSHA; and embeds the script that saves rules.

import { createHash } from "node:crypto"
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { root } from "../root.mjs"

const folder = "packages/sluice/src/stores/redis/scripts"
const rules = "packages/sluice/src/rules/sources"

/** In this order: a part uses what the parts before it define. */
const parts = [
  "call",
  "compact",
  "exact",
  "bucket",
  "fixed-window",
  "sliding-window-counter",
  "sliding-window-log",
  "concurrency",
  "block",
  "main",
]

export function generate() {
  const source = parts.map((part) => read(part)).join("")
  const content = `// Generated from scripts/*.lua by \`npm run generate\`. DO NOT EDIT.

export const SCRIPT_DIGEST = "${digest(source)}"

export const SCRIPT = ${template(source)}

export const HEARTBEAT = ${template(read("heartbeat"))}

export const BLOCK_LIST = ${template(read("block-list"))}
`
  return { "packages/sluice/src/stores/redis/scripts.ts": content, [`${rules}/save-script.ts`]: saveScript() }
}

function saveScript() {
  const source = read("save", rules)
  return `// Generated from save.lua by \`npm run generate\`. DO NOT EDIT.

export const SAVE_DIGEST = "${digest(source)}"

export const SAVE = ${template(source)}
`
}

function digest(source) {
  return createHash("sha1").update(source).digest("hex")
}

/** Without comments: the script is sent to Redis after every NOSCRIPT. */
function read(part, from = folder) {
  return readFileSync(join(root, from, `${part}.lua`), "utf8")
    .split("\n")
    .filter((line) => line.trim() !== "" && !line.trim().startsWith("--"))
    .map((line) => `${line}\n`)
    .join("")
}

function template(source) {
  return `\`${source.replaceAll("\\", "\\\\").replaceAll("`", "\\`").replaceAll("${", "\\${")}\``
}
