// `npm test`: runs all checks, also after a failure, and ends with `N passed, N failed`. Each test counts as one, and so does
// each other step. `npm test -- path` runs only the test files whose path contains `path`. A tool that cannot be installed
// counts as one failure, and the test files that need it do not run.

import { fork, spawn, spawnSync } from "node:child_process"
import { closeSync, mkdtempSync, openSync, readFileSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { install } from "./bootstrap.mjs"
import { build } from "./build.mjs"
import { readIfExists } from "./files.mjs"
import { root } from "./root.mjs"
import { closingLine, countTests, failedTests, slowestFiles } from "./test-report.mjs"

/** @typedef {{ passed: number, failed: number, skipped: number, note?: string, failures?: string[] }} Count */

const selection = process.argv.slice(2)
/** The test files that do not run because a tool is missing. @type {string[]} */
let skippedFiles = []
/** Whether any other test file is selected. */
let hasTestsToRun = true
/** Messages about tests that did not run for lack of an optional tool, which is no failure. @type {string[]} */
let notRun = []
/** @type {string[]} */
let slowest = []
/** Settles when the tools are found or downloaded. @type {Promise<{ said: string[], prepared: import("./tools/prepare.mjs").Prepared }>} */
let preparing
/** Settles when lint has ended. @type {Promise<{ status: number | null, signal: string | null, printed: string }>} */
let linting

/** @type {[name: string, run: () => boolean | Count | Promise<boolean | Count>][]} */
const steps = [
  ["install", installAll],
  ["build and types", buildAll],
  ["lint", lint],
  ["generated files", () => run(process.execPath, ["scripts/generate.mjs", "--check"]) === 0],
  ["tools", getTools],
  ["tests", runVitest],
]

/** @type {{ name: string, count: Count, ms: number }[]} */
const results = []
for (const [name, step] of steps) {
  console.log(`\n── ${name} ${"─".repeat(60 - name.length)}`)
  const started = performance.now()
  const count = await attempt(step)
  results.push({ name, count, ms: performance.now() - started })
  // All other steps need the dependencies.
  if (name === "install" && count.failed > 0) break
}

console.log("\n── result ───────────────────────────────────────────────────────")
for (const { name, count, ms } of results) {
  const verdict = count.failed === 0 ? "ok  " : "FAIL"
  const note = count.note ? `  (${count.note})` : ""
  console.log(`${verdict}  ${name.padEnd(16)} ${(ms / 1000).toFixed(1).padStart(6)} s${note}`)
  for (const failure of count.failures ?? []) console.log(`      ${failure.replaceAll("\n", "\n      ")}`)
}
if (slowest.length > 0) console.log(`\nSlowest test files:\n${slowest.join("\n")}`)
if (notRun.length > 0) console.log(`\n${notRun.join("\n")}`)
console.log(`\n${closingLine(results.map((result) => result.count))}`)
process.exitCode = results.every((result) => result.count.failed === 0) ? 0 : 1

/** @returns {Promise<Count>} */
async function attempt(step) {
  try {
    const outcome = await step()
    if (typeof outcome !== "boolean") return outcome
    return { passed: outcome ? 1 : 0, failed: outcome ? 0 : 1, skipped: 0 }
  } catch (error) {
    console.error(error instanceof Error ? error.message : error)
    return { passed: 0, failed: 1, skipped: 0 }
  }
}

/**
 * Installs the dependencies, and starts two things that go on while the next step builds: lint, because the build does not
 * keep two cores busy, and the download of the tools, which mostly waits for the network.
 */
function installAll() {
  install()
  linting = startLint()
  linting.catch(() => {})
  const child = fork(join(root, "scripts", "tools", "prepare.mjs"), selection)
  preparing = new Promise((resolve, reject) => {
    child.once("message", resolve)
    child.once("error", reject)
    child.once("exit", (status) => reject(new Error(`looking for the tools ended with status ${status}`)))
  })
  // The step that needs the tools reports the error.
  preparing.catch(() => {})
  return true
}

/** Builds everything, and sets the variable by which tests know that they need not build again. */
function buildAll() {
  const isBuilt = build()
  if (isBuilt) process.env.SLUICE_BUILT = "yes"
  return isBuilt
}

/** Writes to a file, because the build blocks this process, and nobody would read a pipe. */
function startLint() {
  const folder = mkdtempSync(join(tmpdir(), "sluice-lint-"))
  const output = join(folder, "output")
  const file = openSync(output, "w")
  const biome = join(root, "node_modules", "@biomejs", "biome", "bin", "biome")
  // Biome prints a number of diagnostics only. Remarks that are no failure must not take the place of those that are.
  const limits = ["--diagnostic-level=warn", "--max-diagnostics=200"]
  const colours = process.stdout.isTTY ? "--colors=force" : "--colors=off"
  const args = [biome, "ci", "--error-on-warnings", ...limits, colours]
  const child = spawn(process.execPath, args, { cwd: root, stdio: ["ignore", file, file] })
  closeSync(file)
  return new Promise((resolve, reject) => {
    child.once("error", reject)
    child.once("close", (status, signal) =>
      resolve({ status, signal, printed: readFileSync(output, "utf8") }),
    )
  }).finally(() => rmSync(folder, { recursive: true, force: true }))
}

async function lint() {
  const { status, signal, printed } = await linting
  process.stdout.write(printed)
  if (status !== 0) console.error(`lint ended with ${signal ?? `status ${status}`}`)
  return status === 0
}

/** @returns {Promise<Count>} */
async function getTools() {
  const { said, prepared } = await preparing
  for (const line of said) console.log(line)
  Object.assign(process.env, prepared.variables)
  skippedFiles = prepared.skippedFiles
  notRun = prepared.notRun
  hasTestsToRun = prepared.hasTestsToRun
  if (prepared.problem !== undefined) console.error(prepared.problem)
  return {
    passed: prepared.missing.length === 0 ? 1 : 0,
    failed: prepared.missing.length,
    skipped: 0,
    note: prepared.note,
    failures: prepared.problem === undefined ? [] : [prepared.problem],
  }
}

/** @returns {Count} */
function runVitest() {
  // The missing tool already counts as a failure.
  if (!hasTestsToRun)
    return { passed: 0, failed: 0, skipped: 0, note: "all selected tests need a missing tool" }
  const folder = mkdtempSync(join(tmpdir(), "sluice-test-"))
  const report = join(folder, "vitest.json")
  const times = join(folder, "times.json")
  try {
    const reporters = ["default", "json", join(root, "scripts", "test-times.mjs")]
    const options = [...reporters.map((reporter) => `--reporter=${reporter}`), `--outputFile.json=${report}`]
    const env = { SLUICE_TEST_TIMES: times, SLUICE_TESTS_LEFT_OUT: skippedFiles.join("\n") }
    const status = node("vitest/vitest.mjs", ["run", ...options, ...selection], env)
    const json = readIfExists(report)
    slowest = slowestFiles(readIfExists(times), root)
    const count = countTests(json, status)
    const note = count.note ?? `${count.passed} passed, ${count.failed} failed`
    return { ...count, note, failures: failedTests(json, root) }
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/** Runs the script of an installed package. This works on every system, unlike its command in node_modules/.bin. */
function node(script, args, env = {}) {
  return run(process.execPath, [join(root, "node_modules", script), ...args], env)
}

function run(command, args, env = {}) {
  return spawnSync(command, args, { cwd: root, stdio: "inherit", env: { ...process.env, ...env } }).status
}
