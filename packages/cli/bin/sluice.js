#!/usr/bin/env node
import { existsSync } from "node:fs"

const program = new URL("../dist/main.js", import.meta.url)
if (existsSync(program)) await import(program.href)
else {
  // This happens only in a clone of the repository: the published package contains the build.
  process.stderr.write("sluice is not built yet. Run in its repository: npm install && npm run build\n")
  process.exitCode = 1
}
