// `npm test`: every check there is. Runs all of them even after a failure, and ends with `N passed, N failed`, in which
// each vitest test counts as one, and so does each other step. `npm test -- path` runs only the test files that match.

import { spawnSync } from "node:child_process"
import { mkdtempSync, readFileSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { install } from "./bootstrap.mjs"
import { build } from "./build.mjs"
import { ensureRedis } from "./ensure-redis.mjs"
import { root } from "./root.mjs"
import { closingLine, countTests, failedTests } from "./test-report.mjs"

/** @typedef {{ passed: number, failed: number, skipped: number, note?: string, failures?: string[] }} Count */

/** @type {[name: string, run: () => boolean | Count][]} */
const steps = [
  ["install", () => install() ?? true],
  ["lint", lint],
  ["build and types", () => build()],
  ["generated files", () => run(process.execPath, ["scripts/generate.mjs", "--check"]) === 0],
  ["redis-server", findRedis],
  ["tests", runVitest],
]

/** @type {{ name: string, count: Count, ms: number }[]} */
const results = []
for (const [name, step] of steps) {
  console.log(`\n── ${name} ${"─".repeat(60 - name.length)}`)
  const started = performance.now()
  const count = attempt(step)
  results.push({ name, count, ms: performance.now() - started })
  // Every other step needs what this one brings.
  if (name === "install" && count.failed > 0) break
}

console.log("\n── result ───────────────────────────────────────────────────────")
for (const { name, count, ms } of results) {
  const verdict = count.failed === 0 ? "ok  " : "FAIL"
  const note = count.note ? `  (${count.note})` : ""
  console.log(`${verdict}  ${name.padEnd(16)} ${(ms / 1000).toFixed(1).padStart(6)} s${note}`)
  for (const failure of count.failures ?? []) console.log(`      ${failure}`)
}
console.log(`\n${closingLine(results.map((result) => result.count))}`)
process.exitCode = results.every((result) => result.count.failed === 0) ? 0 : 1

/** @returns {Count} */
function attempt(step) {
  try {
    const outcome = step()
    if (typeof outcome !== "boolean") return outcome
    return { passed: outcome ? 1 : 0, failed: outcome ? 0 : 1, skipped: 0 }
  } catch (error) {
    console.error(error instanceof Error ? error.message : error)
    return { passed: 0, failed: 1, skipped: 0 }
  }
}

function lint() {
  const colours = process.stdout.isTTY ? [] : ["--colors=off"]
  return node("@biomejs/biome/bin/biome", ["ci", "--error-on-warnings", ...colours]) === 0
}

function findRedis() {
  process.env.SLUICE_REDIS_SERVER = ensureRedis()
  return true
}

/** @returns {Count} */
function runVitest() {
  const folder = mkdtempSync(join(tmpdir(), "sluice-test-"))
  const report = join(folder, "vitest.json")
  try {
    const reporters = ["--reporter=default", "--reporter=json", `--outputFile.json=${report}`]
    const status = node("vitest/vitest.mjs", ["run", ...reporters, ...process.argv.slice(2)])
    const json = readIfThere(report)
    const count = countTests(json, status)
    const note = count.note ?? `${count.passed} passed, ${count.failed} failed`
    return { ...count, note, failures: failedTests(json, root) }
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/** Runs an installed tool by its script, which works the same on every system. */
function node(script, args) {
  return run(process.execPath, [join(root, "node_modules", script), ...args])
}

function run(command, args) {
  return spawnSync(command, args, { cwd: root, stdio: "inherit" }).status
}

function readIfThere(path) {
  try {
    return readFileSync(path, "utf8")
  } catch {
    return undefined
  }
}
