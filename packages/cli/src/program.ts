// Finds the command, runs it, and tells what went wrong: the only place that knows exit codes of failures.

import { inspect } from "node:util"
import { SluiceError } from "sluice"
import { nearest } from "sluice/internal"
import { catalog } from "./catalog/index.js"
import type { Command, ExitCode, Invocation } from "./command.js"
import { commandHelp, groupHelp, programHelp } from "./help.js"
import { parse } from "./parse.js"
import type { Terminal } from "./terminal.js"
import { UsageError } from "./usage-error.js"
import { VERSION } from "./version.js"

export interface Surroundings {
  readonly terminal: Terminal
  readonly env: Readonly<Record<string, string | undefined>>
}

export async function runProgram(argv: readonly string[], around: Surroundings): Promise<ExitCode> {
  const { terminal } = around
  const [first, ...others] = argv
  const words = first === "help" ? [...others, "--help"] : argv
  const found = find(words)
  try {
    if (first === "--version" || first === "-V") {
      terminal.print(VERSION)
      return 0
    }
    if (found.command !== undefined) return await runCommand(found.command, found.rest, around)
    return showHelp(found, terminal)
  } catch (error) {
    return told(error, found.path, terminal)
  }
}

interface Found {
  /** `rules apply`, as far as it is known. */
  readonly path: string
  readonly command: Command | undefined
  readonly rest: readonly string[]
}

/** The longest name that the words begin with: `rules apply`, else the group `rules`, else the program. */
function find(words: readonly string[]): Found {
  for (const length of [2, 1]) {
    const path = words.slice(0, length).join(" ")
    const command = catalog.find(({ spec }) => spec.name === path)
    if (command !== undefined) return { path, command, rest: words.slice(length) }
  }
  const path = membersOf(words[0] ?? "").length > 0 ? (words[0] as string) : ""
  return { path, command: undefined, rest: words.slice(path === "" ? 0 : 1) }
}

function membersOf(group: string): readonly Command[] {
  return catalog.filter(({ spec }) => spec.name.startsWith(`${group} `))
}

function showHelp({ path, rest }: Found, terminal: Terminal): ExitCode {
  const [word] = rest
  const isAsked = rest.includes("--help") || rest.includes("-h")
  if (word !== undefined && !(isAsked && word.startsWith("-"))) throw unknownWord(path, word)
  const help =
    path === "" ? programHelp(catalog, terminal.style) : groupHelp(path, membersOf(path), terminal.style)
  if (isAsked) terminal.print(help)
  // Nothing was asked for, so nothing is a result.
  else terminal.note(help)
  return isAsked ? 0 : 2
}

function unknownWord(path: string, word: string): UsageError {
  const depth = path === "" ? 0 : 1
  const known = [
    ...new Set(
      (path === "" ? catalog : membersOf(path)).map(({ spec }) => spec.name.split(" ")[depth] ?? ""),
    ),
  ]
  const guess = nearest(word, word.startsWith("-") ? ["--help", "--version"] : known)
  const hint = guess === undefined ? "" : `; did you mean ${[path, guess].filter(Boolean).join(" ")}?`
  return new UsageError(word, `does not exist${hint}`)
}

async function runCommand(
  { spec, run }: Command,
  words: readonly string[],
  around: Surroundings,
): Promise<ExitCode> {
  const end = words.indexOf("--")
  const flags = end < 0 ? words : words.slice(0, end)
  if (flags.includes("--help") || flags.includes("-h")) {
    around.terminal.print(await commandHelp(spec, around.terminal.style))
    return 0
  }
  const parsed = spec.passThrough ? { args: {}, options: {} } : parse(spec, words)
  return await run({
    ...parsed,
    ...around,
    catalog,
    rest: spec.passThrough ? words : [],
  } as Invocation<never>)
}

function told(error: unknown, path: string, terminal: Terminal): ExitCode {
  const name = ["sluice", path].filter(Boolean).join(" ")
  if (!(error instanceof Error) || !isExplained(error)) {
    terminal.note(
      `${name}: ${terminal.noteStyle.red("this is a mistake in sluice itself")}\n${inspect(error)}`,
    )
    return 1
  }
  terminal.note(`${terminal.noteStyle.bold(name)}: ${error.message}`)
  if (!isMisuse(error)) return 1
  terminal.note(terminal.noteStyle.dim(`See: ${name} --help`))
  return 2
}

/** Errors whose message says all there is to know; those of the service have names of their own. */
function isExplained(error: Error): boolean {
  return error instanceof SluiceError || error.name === "ListenError" || error.name === "WorkerError"
}

/** A configuration may be refused for what is in a file; then it is no mistake on the command line. */
function isMisuse(error: Error): boolean {
  if (error instanceof UsageError) return true
  const { problems = [] } = error as { problems?: readonly { readonly place?: string }[] }
  return (
    error instanceof SluiceError &&
    error.code === "CONFIG_INVALID" &&
    problems.some(({ place }) => place?.startsWith("--"))
  )
}
