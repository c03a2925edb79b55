// What a process pays for the library: nothing until it is used, and it may end while there are counters.

import { execFile } from "node:child_process"
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { promisify } from "node:util"
import { runInNewContext } from "node:vm"
import { type ModuleFormat, rolldown } from "rolldown"
import { afterAll, beforeAll, describe, expect, it } from "vitest"

const source = (path: string) => fileURLToPath(new URL(path, import.meta.url))
let folder: string

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "sluice-process-"))
  writeFileSync(join(folder, "sluice.mjs"), await bundle("esm"))
}, 20_000)

afterAll(() => rmSync(folder, { recursive: true, force: true }))

/** The library as one file, from its sources, so that no test runs on an old build. */
async function bundle(format: ModuleFormat): Promise<string> {
  const build = await rolldown({ input: source("./index.ts"), platform: "neutral", external: /^node:/ })
  const { output } = await build.generate({ format, name: "sluice", codeSplitting: false })
  await build.close()
  return output[0].code
}

/** Runs a program in a process of its own, which has to end by itself, and returns what it printed. */
async function run(program: string, ms = 10_000): Promise<string> {
  const file = join(folder, `program-${Math.random().toString(36).slice(2)}.mjs`)
  writeFileSync(file, program)
  const { stdout } = await promisify(execFile)(process.execPath, [file], {
    timeout: ms,
    killSignal: "SIGKILL",
  })
  return stdout.trim()
}

/** Replaces everything that starts a timer or opens a file by something that notes it. */
const watched = `
  const calls = []
  const watch = (object, names, label) => {
    for (const name of names) {
      const original = object[name]
      object[name] = function (...args) {
        calls.push(label + name)
        return Reflect.apply(original, this, args)
      }
    }
  }
  watch(globalThis, ["setTimeout", "setInterval", "setImmediate", "queueMicrotask", "fetch"], "")
  watch(process, ["getBuiltinModule", "on", "once", "emitWarning", "nextTick"], "process.")
`

describe("importing sluice", () => {
  it("starts no timer, reads no file and listens to nothing", async () => {
    const program = `${watched}
      await import("./sluice.mjs")
      const held = process.getActiveResourcesInfo().filter((name) => /Timeout|Immediate|FS|TCP|Pipe/.test(name))
      console.log(JSON.stringify({ calls, held: held.filter((name) => !/FSReq/.test(name)) }))
    `
    expect(JSON.parse(await run(program))).toEqual({ calls: [], held: [] })
  })

  it("needs nothing of Node", async () => {
    expect(await bundle("esm")).not.toMatch(/^import /m)
  })

  it("works where there is no process, no Buffer and no setImmediate", async () => {
    const { setInterval, clearInterval, setTimeout, clearTimeout, crypto } = globalThis
    const bare = { setInterval, clearInterval, setTimeout, clearTimeout, crypto }
    const remaining = runInNewContext(
      `${await bundle("iife")}
      const limiter = sluice.createLimiter({ limit: 100, window: "1m" })
      for (let i = 0; i < 98; i++) limiter.checkSync("key")
      const { remaining } = limiter.checkSync("key")
      limiter.close()
      remaining`,
      bare,
    )
    expect(remaining).toBe(1)
  })
})

describe("a limiter", () => {
  it("starts no timer before the first key", async () => {
    const program = `${watched}
      const { createLimiter } = await import("./sluice.mjs")
      const limiter = createLimiter({ limits: [{ limit: 5, window: "1s" }, { limit: 50, window: "1m" }] })
      await limiter.peek("key")
      console.log(JSON.stringify(calls))
    `
    expect(JSON.parse(await run(program))).toEqual([])
  })

  it("does not keep its process alive while it holds keys", async () => {
    const program = `
      const { createLimiter } = await import("./sluice.mjs")
      const limiter = createLimiter({ limit: 5, window: "1d" })
      for (let i = 0; i < 10_000; i++) limiter.checkSync("key " + i)
      await limiter.block("bad", "1d")
      console.log("last line")
    `
    expect(await run(program)).toBe("last line")
  })

  it("keeps its process alive while a request waits", async () => {
    const program = `
      const { createLimiter } = await import("./sluice.mjs")
      const limiter = createLimiter({ algorithm: "token-bucket", limit: 50, window: "1s", burst: 1 })
      await limiter.check("key")
      const { allowed } = await limiter.wait("key")
      console.log(allowed)
    `
    expect(await run(program)).toBe("true")
  })

  it("lets its process end right after a wait was aborted", async () => {
    const program = `
      const { createLimiter } = await import("./sluice.mjs")
      const limiter = createLimiter({ limit: 1, window: "1d" })
      await limiter.check("key")
      const controller = new AbortController()
      const waiting = limiter.wait("key", { signal: controller.signal })
      await Promise.resolve()
      controller.abort(new Error("gone"))
      await waiting.catch((error) => console.log(error.message))
    `
    expect(await run(program)).toBe("gone")
  })
})
