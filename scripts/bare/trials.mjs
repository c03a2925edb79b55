// Runs npm start and npm test in a bare machine.

import { execFile } from "node:child_process"
import { readFileSync } from "node:fs"
import { createServer } from "node:net"
import { promisify } from "node:util"

/** @typedef {import("node:child_process").ChildProcess} ChildProcess */
/** @typedef {(command: string[], env?: Record<string, string>) => ChildProcess} Enter */
/** @typedef {{ good: boolean, line: string }} Result */

const START_TIMEOUT_MS = 10 * 60_000
/** The default ports of npm start. */
const PORTS = { SLUICE_HTTP__PORT: 8080, SLUICE_GRPC__PORT: 8081, SLUICE_CONTROL__PORT: 9090 }

/** Runs `npm start` until the service answers the curl command that it prints. @param {Enter} enter @param {AbortSignal} stop @returns {Promise<Result>} */
export async function tryStart(enter, stop) {
  const started = performance.now()
  const child = enter(["npm", "start"], await freePorts())
  const { output, ended } = follow(child, stop)
  const limit = setTimeout(() => child.kill("SIGKILL"), START_TIMEOUT_MS)
  try {
    let line
    while (line === undefined && !ended.yes) {
      line = curlLine(output())
      if (line === undefined) await Promise.race([ended.promise, pause(50)])
    }
    if (line === undefined) return { good: false, line: "npm start exited before it printed a curl command" }
    const answer = await runCurl(line)
    const seconds = ((performance.now() - started) / 1000).toFixed(1)
    console.log(`$ ${line}\n${answer}`)
    const good = /^HTTP\/1\.1 [24]\d\d /.test(answer)
    return {
      good,
      line: good ? `npm start answered in ${seconds} s` : `npm start gave no valid answer: ${answer}`,
    }
  } finally {
    clearTimeout(limit)
    sendTerm(child)
    const killed = setTimeout(() => child.kill("SIGKILL"), 15_000)
    await ended.promise
    clearTimeout(killed)
  }
}

/** Runs `npm test` and reads the counts in its last line. @param {Enter} enter @param {readonly string[]} paths @param {AbortSignal} stop @returns {Promise<Result>} */
export async function tryTest(enter, paths, stop) {
  const started = performance.now()
  const child = enter(["npm", "test", ...(paths.length > 0 ? ["--", ...paths] : [])])
  const { output, ended } = follow(child, stop)
  const status = await ended.promise
  const counted = closingCount(output())
  const time = clockTime(performance.now() - started)
  if (counted === undefined)
    return { good: false, line: `npm test exited with ${status} after ${time} without printing counts` }
  return { good: status === 0 && counted.failed === 0, line: `npm test: ${counted.text} in ${time}` }
}

/** The curl command that npm start prints, when its line is complete. @param {string} output */
export function curlLine(output) {
  return /^\s*(curl .*)\n/m.exec(output)?.[1]
}

/** The counts in the last line of npm test, with thousands separators. @param {string} output */
export function closingCount(output) {
  const found = [...output.matchAll(/^(\d+) passed, (\d+) failed(.*)$/gm)].at(-1)
  if (found === undefined) return undefined
  const [, passed, failed, rest = ""] = found
  return { failed: Number(failed), text: `${grouped(passed)} passed, ${grouped(failed)} failed${rest}` }
}

/** @param {number} ms */
export function clockTime(ms) {
  const seconds = Math.round(ms / 1000)
  return `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, "0")}`
}

function grouped(/** @type {string | undefined} */ digits) {
  return Number(digits).toLocaleString("en-US")
}

/** Prints and records the output of the command, and kills the command when `stop` is aborted. @param {ChildProcess} child @param {AbortSignal} stop */
function follow(child, stop) {
  let text = ""
  const take = (/** @type {Buffer} */ chunk) => {
    text += chunk
    process.stdout.write(chunk)
  }
  child.stdout?.on("data", take)
  child.stderr?.on("data", take)
  const kill = () => child.kill("SIGKILL")
  stop.addEventListener("abort", kill, { once: true })
  const ended = { yes: false, promise: /** @type {Promise<number | null>} */ (Promise.resolve(null)) }
  ended.promise = new Promise((resolve) => {
    const done = (/** @type {number | null} */ status) => {
      ended.yes = true
      stop.removeEventListener("abort", kill)
      resolve(status)
    }
    child.once("close", done)
    child.once("error", (error) => {
      text += error.message
      done(null)
    })
  })
  return { output: () => text, ended }
}

/** Sends SIGTERM to the child of unshare, because unshare does not forward it. @param {ChildProcess} child */
function sendTerm({ pid }) {
  try {
    const [first] = readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8").trim().split(" ")
    if (first) process.kill(Number(first), "SIGTERM")
  } catch {
    // The process has exited already.
  }
}

/** Runs the curl command in a shell on this machine, because the bare machine has no curl. @param {string} line */
async function runCurl(line) {
  try {
    const { stdout } = await promisify(execFile)("sh", ["-c", `${line} --silent --show-error --max-time 20`])
    return stdout
  } catch (error) {
    return error instanceof Error ? error.message : String(error)
  }
}

/** Settings that replace default ports that are in use. The bare machine shares the network of this machine. */
async function freePorts() {
  /** @type {Record<string, string>} */
  const env = {}
  for (const [name, port] of Object.entries(PORTS)) {
    if (await isFree(port)) continue
    console.log(`port ${port} is in use on this machine, so npm start runs with ${name}=0`)
    env[name] = "0"
  }
  return env
}

/** @param {number} port @returns {Promise<boolean>} */
function isFree(port) {
  return new Promise((resolve) => {
    const server = createServer()
    server.once("error", () => resolve(false))
    server.listen(port, "127.0.0.1", () => server.close(() => resolve(true)))
  })
}

/** @param {number} ms @returns {Promise<void>} */
function pause(ms) {
  return new Promise((resolve) => {
    setTimeout(resolve, ms)
  })
}
