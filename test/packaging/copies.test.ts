// An application may load the library twice: as ES modules and as CommonJS, or from two installed packages. What one copy made,
// another one must accept.

import { cpSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { afterAll, beforeAll, expect, it } from "vitest"
import { type Packed, packSluice } from "./packed.js"
import { install, runFile, writeProject } from "./project.js"

let packed: Packed

beforeAll(() => {
  packed = packSluice()
  install(packed, ["zod", "yaml"])
}, 60_000)

afterAll(() => packed?.remove())

it("accepts what another copy in the same process made, in every direction", () => {
  const program = fileURLToPath(new URL("programs/copies.mjs", import.meta.url))
  const folder = writeProject(packed, "copies", { "main.mjs": readFileSync(program, "utf8") })
  cpSync(packed.unpacked, join(folder, "second/node_modules/sluice"), { recursive: true })
  expect(runFile(folder, "main.mjs")).toEqual({ status: 0, stdout: "4 copies, 0 failed\n", stderr: "" })
})
