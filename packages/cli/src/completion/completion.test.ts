import { spawnSync } from "node:child_process"
import { writeFileSync } from "node:fs"
import { join } from "node:path"
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest"
import { toolPath } from "../../../../test/support/tool.js"
import { buildCli, type Folder, sluice, temporaryFolder } from "../cli.test-support.js"
import { flagOf } from "../command.js"
import { commands } from "../commands/index.js"

// Each test starts processes, which takes long on a busy machine.
vi.setConfig({ testTimeout: 60_000, hookTimeout: 60_000 })

let folder: Folder
const scripts: Record<string, string> = {}

beforeAll(async () => {
  buildCli()
  folder = temporaryFolder()
  for (const shell of ["bash", "zsh", "fish"]) {
    scripts[shell] = (await sluice(["completion", shell])).stdout
    writeFileSync(join(folder.path, shell), scripts[shell] as string)
  }
  folder.write("rules.yaml", "")
})

afterAll(() => folder.remove())

/** What the shell offers to complete the last of these words with. */
type Complete = (...words: string[]) => string[]

const programs = { bash: () => "bash", fish: () => toolPath("fish"), zsh: () => toolPath("zsh") }

function offered(shell: "bash" | "fish" | "zsh", script: string): string[] {
  const { stdout, stderr, status } = spawnSync(programs[shell](), ["-c", script], {
    encoding: "utf8",
    cwd: folder.path,
  })
  expect([status, stderr]).toEqual([0, ""])
  return stdout.split("\n").filter((line) => line !== "")
}

const bash: Complete = (...words) =>
  offered(
    "bash",
    // compopt works only in a completion that the shell itself started.
    `source ./bash; compopt() { :; }; COMP_WORDS=(sluice ${words.map((word) => `'${word}'`).join(" ")}); COMP_CWORD=${words.length}; _sluice; printf '%s\\n' "\${COMPREPLY[@]}"`,
  )

const fish: Complete = (...words) =>
  offered("fish", `source ./fish; complete -C 'sluice ${words.join(" ")}'`).map(
    (line) => line.split("\t")[0] ?? "",
  )

/** Stand-ins for the functions of zsh's completion that the script calls. They print what they would offer. */
const ZSH = `
compdef() { :; }
_describe() { local name; for name in "\${(@P)2}"; do print -r -- "\${name%%:*}"; done }
_files() { print -r -- *; }
_arguments() { shift; print -rl -- "$@"; }
`
/** A zsh that was unpacked instead of installed does not find its modules without this. */
const ZSH_MODULES = `module_path+=("$SLUICE_UNPACKED"/usr/lib/*/zsh/*(N))`

const zsh = (...words: string[]) =>
  offered(
    "zsh",
    `${ZSH_MODULES}; ${ZSH} source ./zsh; words=(sluice ${words.map((word) => `'${word}'`).join(" ")}); CURRENT=${words.length + 1}; _sluice`,
  )

const shells = [
  ["bash", bash],
  ["fish", fish],
] as const

describe.each(shells)("%s offers", (_shell, complete) => {
  const starting = (words: readonly string[], start: string) => words.filter((word) => word.startsWith(start))

  it("commands, and the commands of a group", () => {
    expect(starting(complete("ru"), "r")).toEqual(["rules"])
    expect(complete("rules", "").sort()).toEqual(
      commands.flatMap(({ spec }) => (spec.name.startsWith("rules ") ? [spec.name.slice(6)] : [])).sort(),
    )
  })

  it("the options of the command, and no others", () => {
    expect(complete("rules", "apply", "--me")).toEqual(["--merge"])
    expect(complete("rules", "list", "--me")).toEqual([])
    expect(complete("serve", "--http.p")).toEqual(["--http.port"])
  })

  it("the values of options and arguments with choices", () => {
    expect(complete("keys", "top", "--by", "").sort()).toEqual(["denied", "used"])
    expect(complete("completion", "").sort()).toEqual(["bash", "fish", "zsh"])
  })

  it("files for arguments and options that take one, also after an option with a value", () => {
    expect(complete("rules", "apply", "ru")).toEqual(["rules.yaml"])
    expect(complete("rules", "list", "--file", "ru")).toEqual(["rules.yaml"])
    expect(complete("rules", "apply", "--comment", "why", "ru")).toEqual(["rules.yaml"])
  })
})

describe("zsh offers", () => {
  it("commands, the commands of a group, and the options of each with their values", () => {
    expect(zsh("ru")).toContain("rules")
    expect(zsh("rules", "")).toContain("apply")
    const specs = zsh("keys", "top", "")
    expect(specs).toContain("--by[What to sort by.]:value:(denied used)")
    expect(zsh("rules", "apply", "")).toContain("1:rules:_files")
  })
})

describe.each(["bash", "zsh", "fish"])("the script for %s", (shell) => {
  it("contains every command and every option", () => {
    const script = scripts[shell] as string
    for (const { spec } of commands) {
      expect(script).toContain(spec.name.split(" ").at(-1))
      for (const option of Object.values(spec.options ?? {})) {
        const { long } = flagOf(option)
        expect(script).toContain(shell === "fish" ? `-l ${long.slice(2)} ` : long)
      }
    }
  })
})
