// Starts each example as its comment says, and compares the answers with the comment.

import { type ChildProcess, execFileSync, spawn } from "node:child_process"
import { once } from "node:events"
import { existsSync, readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { afterEach, beforeAll, describe, expect, it } from "vitest"
import { build } from "../support/build.js"
import { eventually } from "../support/eventually.js"
import { reservePort } from "../support/ports.js"
import { type Exchange, readTranscript } from "./transcript.js"

const root = fileURLToPath(new URL("../../", import.meta.url))
const MAIN_FILES = ["server.mjs", "server.ts", "calls.mjs"]

const examples = readdirSync(join(root, "examples"), { withFileTypes: true })
  .filter((entry) => entry.isDirectory())
  .map(({ name }) => {
    const file = MAIN_FILES.map((main) => join(root, "examples", name, main)).find(existsSync)
    if (file === undefined) throw new Error(`examples/${name} has none of ${MAIN_FILES.join(", ")}`)
    return { name, ...readTranscript(readFileSync(file, "utf8")) }
  })

beforeAll(() => {
  // The examples run on what is built, as users have it; one of them has to be compiled itself.
  build("packages/sluice")
  execFileSync(process.execPath, [join(root, "node_modules/typescript/bin/tsc"), "-b", "examples/nest"], {
    cwd: root,
  })
}, 120_000)

const running: { child: ChildProcess; ended: Promise<unknown>; release(): Promise<void> }[] = []

afterEach(async () => {
  for (const { child, ended, release } of running.splice(0)) {
    child.kill("SIGKILL")
    await ended
    await release()
  }
})

async function run(script: string) {
  const { port, release } = await reservePort()
  const child = spawn(process.execPath, [join(root, script)], {
    cwd: root,
    env: { ...process.env, PORT: String(port) },
    stdio: ["ignore", "pipe", "pipe"],
  })
  const ended = once(child, "exit")
  running.push({ child, ended, release })
  const output = { out: "", err: "" }
  child.stdout.setEncoding("utf8").on("data", (text) => {
    output.out += text
  })
  child.stderr.setEncoding("utf8").on("data", (text) => {
    output.err += text
  })
  return { child, ended, port, output }
}

/** Lines as they would be on the port of the comment. */
function lines(text: string, port: number): string[] {
  return text.replaceAll(`:${port}`, ":3000").split("\n").slice(0, -1)
}

async function check(exchange: Exchange, port: number): Promise<void> {
  const response = await fetch(`http://127.0.0.1:${port}${exchange.path}`, exchange.init)
  const body = await response.text()
  expect(response.status, exchange.line).toBe(exchange.status)
  for (const text of exchange.texts) expect(body, exchange.line).toContain(text)
  for (const [name, value] of exchange.headers) {
    const found = response.headers.get(name)
    if (value === "none") expect(found, exchange.line).toBeNull()
    else if (name === "retry-after") {
      // Time passes between two requests, and more of it on a busy machine.
      expect(Number(found), exchange.line).toBeLessThanOrEqual(Number(value))
      expect(Number(found), exchange.line).toBeGreaterThan(Number(value) / 2)
    } else expect(found, exchange.line).toBe(value)
  }
}

const named = examples.map((example) => [example.name, example] as const)
const servers = named.filter(([, { exchanges }]) => exchanges.length > 0)
const programs = named.filter(([, { exchanges }]) => exchanges.length === 0)

describe("an application", () => {
  it.each(servers)(
    "examples/%s answers what its comment says",
    async (_name, { script, prints, exchanges }) => {
      const { port, output, child } = await run(script)
      await eventually(() => output.out.includes("\n") || child.exitCode !== null, { within: 20_000 })
      expect({ printed: lines(output.out, port), err: output.err }).toEqual({ printed: prints, err: "" })
      for (const exchange of exchanges) await check(exchange, port)
      expect(output.err).toBe("")
    },
    40_000,
  )
})

describe("a program", () => {
  it.each(programs)(
    "examples/%s prints what its comment says, and ends",
    async (_name, { script, prints }) => {
      const { port, output, ended } = await run(script)
      expect(await ended).toEqual([0, null])
      // Seconds are those of a machine that does nothing else: none is ever early, some are late.
      const told = (line: string) => Number(/after ([\d.]+) s/.exec(line)?.[1] ?? 0)
      const withoutTime = (line: string) => line.replace(/after [\d.]+ s/, "after … s")
      const printed = lines(output.out, port)
      expect(printed.map(withoutTime)).toEqual(prints.map(withoutTime))
      printed.forEach((line, i) => {
        expect(told(line)).toBeGreaterThanOrEqual(told(prints[i] as string))
      })
      expect(output.err).toBe("")
    },
    40_000,
  )
})

it("there is an example with output for every framework that has a middleware", () => {
  const { exports } = JSON.parse(readFileSync(join(root, "packages/sluice/package.json"), "utf8"))
  const middlewares = Object.entries<string | { import: { default: string } }>(exports)
    .filter(
      ([, target]) =>
        typeof target === "object" && /^\.\/dist\/middleware\/(?!stores\/)/.test(target.import.default),
    )
    .map(([subpath]) => subpath)
  expect(middlewares).toContain("./express")
  const names = examples.map(({ name }) => `./${name}`)
  expect(middlewares.filter((subpath) => !names.includes(subpath))).toEqual([])
  for (const { prints } of examples) expect(prints.length).toBeGreaterThan(0)
})
