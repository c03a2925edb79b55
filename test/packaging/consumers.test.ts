import { readFileSync } from "node:fs"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { type Packed, packSluice } from "./packed.js"
import { compileProject, install, ON_NODE, runFile, writeProject } from "./project.js"

// Each project is what a user would write, with nothing but the published package in reach. The package's own declarations
// are checked too, once with the browser's types and no types of Node, and once the other way round.

let packed: Packed

beforeAll(() => {
  packed = packSluice()
}, 60_000)

afterAll(() => packed?.remove())

// None of the programs closes its limiter: they also show that a limiter does not keep a process alive.
const printed = { status: 0, stdout: "true 1\n", stderr: "" }

describe("JavaScript", () => {
  it("imports it from an ES module", () => {
    const folder = writeProject(packed, "js-esm", {
      "main.mjs": `
        import { createLimiter } from "sluice"
        import { ManualClock } from "sluice/testing"
        const limiter = createLimiter({ limit: 2, window: "1m", clock: new ManualClock() })
        const decision = await limiter.check("user:42")
        console.log(decision.allowed, decision.remaining)`,
    })
    expect(runFile(folder, "main.mjs")).toEqual(printed)
  })

  it("requires it from a CommonJS module, without a warning", () => {
    const folder = writeProject(packed, "js-cjs", {
      "main.cjs": `
        const { createLimiter } = require("sluice")
        const { ManualClock } = require("sluice/testing")
        const limiter = createLimiter({ limit: 2, window: "1m", clock: new ManualClock() })
        limiter.check("user:42").then((decision) => console.log(decision.allowed, decision.remaining))`,
    })
    expect(runFile(folder, "main.cjs")).toEqual(printed)
  })
})

it("runs where there is no import(), as in Jest", () => {
  const program = fileURLToPath(new URL("programs/no-import.cjs", import.meta.url))
  const folder = writeProject(packed, "no-import", { "main.cjs": readFileSync(program, "utf8") })
  expect(runFile(folder, "main.cjs")).toEqual({ status: 0, stdout: "true true CLIENT_MISSING\n", stderr: "" })
})

it("makes limiters and engines while a module loads, when Workers forbid timers and random values", () => {
  install(packed, ["zod", "yaml"])
  const program = fileURLToPath(new URL("programs/module-scope.mjs", import.meta.url))
  const folder = writeProject(packed, "module-scope", { "main.mjs": readFileSync(program, "utf8") })
  expect(runFile(folder, "main.mjs")).toEqual({ status: 0, stdout: "200 429 200 429\n", stderr: "" })
})

describe("TypeScript", () => {
  const source = `
    import { createLimiter, SluiceError, type Decision } from "sluice"
    import { ManualClock } from "sluice/testing"

    declare const console: { log(...values: unknown[]): void }

    const limiter = createLimiter({ limit: 2, window: "1m", clock: new ManualClock() })

    export function report(decision: Decision): void {
      const allowed: boolean = decision.allowed
      const remaining: number = decision.remaining
      console.log(allowed, remaining)
    }

    export function misuse(error: unknown): void {
      if (error instanceof SluiceError && error.code === "LIMIT_INVALID") console.log(error.message)
      // @ts-expect-error a window is a duration or a number of milliseconds
      createLimiter({ limit: 2, window: true })
      // @ts-expect-error a decision is not any
      const text: string = limiter.checkSync("user:42")
      console.log(text)
    }

    limiter.check("user:42").then(report)
  `

  function compile(name: string, type: "module" | "commonjs", options: object) {
    return runFile(compileProject(packed, name, { "main.ts": source }, type, options), join("out", "main.js"))
  }

  it("compiles and runs as an ES module, without the types of Node", () => {
    expect(compile("ts-esm", "module", { module: "nodenext", lib: ["ES2023", "DOM"], types: [] })).toEqual(
      printed,
    )
  })

  it("compiles and runs as a CommonJS module, without the types of a browser", () => {
    const options = { module: "node20", ...ON_NODE }
    expect(compile("ts-cjs", "commonjs", options)).toEqual(printed)
  })

  it("compiles a CommonJS module that TypeScript does not allow to require ES modules", () => {
    expect(compile("ts-node16", "commonjs", { module: "node16", ...ON_NODE })).toEqual(printed)
  })
})
