#!/usr/bin/env node
import { existsSync } from "node:fs"

const program = new URL("../dist/main.js", import.meta.url)
if (existsSync(program)) await import(program.href)
else {
  // Only in a clone of the repository: what is published is built.
  process.stderr.write("sluice is not built yet. In its repository: npm install && npm run build\n")
  process.exitCode = 1
}
