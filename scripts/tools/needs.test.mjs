import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { root } from "../root.mjs"
import { selectedFiles, testFiles, toolsOf } from "./needs.mjs"
import { tools } from "./table.mjs"

describe("the tools of a test file", () => {
  let folder

  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), "sluice-needs-"))
    const put = (file, text) => {
      mkdirSync(join(folder, file, ".."), { recursive: true })
      writeFileSync(join(folder, file), text)
    }
    put("a/own.test.ts", 'spawn(toolPath("wrk"))')
    put("a/through.test.ts", 'import { x } from "../b/one.js"\nimport { spawn } from "node:child_process"')
    put("a/later.test.ts", 'const x = await import("../b/two.js")')
    put("a/none.test.ts", 'import { z } from "./types.js"')
    put("a/types.ts", "export const z = 1")
    // The files import each other.
    put("b/one.ts", 'export { y } from "./two.js"')
    put("b/two.ts", 'import "./one.js"\nexport const y = () => toolPath("nginx")')
    put("node_modules/p/p.test.ts", 'toolPath("fish")')
    put("a/dist/d.test.mjs", 'toolPath("fish")')
  })

  afterAll(() => rmSync(folder, { recursive: true }))

  it("are those that it and its imports name", () => {
    const files = testFiles(folder)
    expect(files).toEqual(["a/later.test.ts", "a/none.test.ts", "a/own.test.ts", "a/through.test.ts"])
    expect(Object.fromEntries(toolsOf(files, folder))).toEqual({
      "a/later.test.ts": new Set(["nginx"]),
      "a/none.test.ts": new Set(),
      "a/own.test.ts": new Set(["wrk"]),
      "a/through.test.ts": new Set(["nginx"]),
    })
  })
})

describe("a selection", () => {
  const files = ["packages/a/x.test.ts", "packages/b/y.test.ts", "test/z.test.ts"]

  it("contains every file whose path contains one of the words", () => {
    expect(selectedFiles(files, ["packages/b", "z.test"])).toEqual(["packages/b/y.test.ts", "test/z.test.ts"])
    expect(selectedFiles(files, ["./packages/a"])).toEqual(["packages/a/x.test.ts"])
  })

  it("contains every file if there are no words but values of options", () => {
    expect(selectedFiles(files, [])).toEqual(files)
    expect(selectedFiles(files, ["-t", "packages/b"])).toEqual(files)
    expect(selectedFiles(files, ["test/z", "-t", "packages/b"])).toEqual(["test/z.test.ts"])
  })
})

describe("in this repository", () => {
  const sources = ["packages", "test"].flatMap((place) =>
    readdirSync(join(root, place), { recursive: true, encoding: "utf8" })
      .filter((file) => /\.(ts|mjs)$/.test(file) && !/(^|\/)(node_modules|dist)\//.test(file))
      .map((file) => join(place, file)),
  )
  const isForTests = (file) => file.startsWith("test/") || /\.test(-support)?\.ts$/.test(file)

  it("every call of toolPath names a tool of the table, as a literal", () => {
    let calls = 0
    for (const file of sources) {
      if (file === join("test", "support", "tool.ts")) continue
      for (const [call, name] of readFileSync(join(root, file), "utf8").matchAll(/\btoolPath\(([^)]*)\)/g)) {
        calls++
        expect(
          Object.keys(tools).map((tool) => `"${tool}"`),
          `${file}: ${call}`,
        ).toContain(name)
      }
    }
    expect(calls).toBeGreaterThan(8)
  })

  it("no test starts a program by its name that a minimal Debian lacks", () => {
    const lacking =
      "curl|wget|git|openssl|python3?|ps|pkill|pgrep|lsof|netstat|nc|unzip|make|gcc|jq|sudo|redis-cli|nginx"
    const started = new RegExp(`(?<!describe)\\(\\s*"(${lacking})"\\s*,`, "g")
    for (const file of sources.filter(isForTests)) {
      const names = [...readFileSync(join(root, file), "utf8").matchAll(started)].map(([, name]) => name)
      expect(names, `${file}: use toolPath, and scripts/tools/table.mjs`).toEqual([])
    }
  })

  it("tests of the dashboard need a browser, those of the gateway curl and wrk, those of algorithms nothing", () => {
    const needs = toolsOf(testFiles())
    expect(needs.get("test/dashboard/rules.test.ts")).toEqual(new Set(["chromium"]))
    expect(needs.get("test/gateway/clients.test.ts")).toEqual(new Set(["curl", "wrk"]))
    expect(needs.get("packages/cli/src/completion/completion.test.ts")).toEqual(new Set(["fish", "zsh"]))
    for (const [file, tools] of needs)
      if (file.startsWith("packages/sluice/src/algorithms/")) expect(tools, file).toEqual(new Set())
  })
})
