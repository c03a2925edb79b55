// Finds the command, runs it, reports errors, and decides the exit code of a failure.

import { inspect } from "node:util"
import { SluiceError } from "sluice"
import { nearest } from "sluice/internal"
import { type Command, type ExitCode, type Invocation, UsageError } from "./command.js"
import { commands } from "./commands/index.js"
import { commandHelp, groupHelp, programHelp } from "./help.js"
import { parse } from "./parse.js"
import type { Terminal } from "./terminal/terminal.js"
import { VERSION } from "./version.js"

const specs = commands.map(({ spec }) => spec)

export interface Environment {
  readonly terminal: Terminal
  readonly env: Readonly<Record<string, string | undefined>>
}

export async function runProgram(argv: readonly string[], environment: Environment): Promise<ExitCode> {
  const { terminal } = environment
  const [first, ...others] = argv
  const words = first === "help" ? [...others, "--help"] : argv
  const found = find(words)
  try {
    if (first === "--version" || first === "-V") {
      terminal.print(VERSION)
      return 0
    }
    if (found.command !== undefined) return await runCommand(found.command, found.rest, environment)
    return showHelp(found, terminal)
  } catch (error) {
    return report(error, found.path, terminal)
  }
}

interface Found {
  /** The command or group that was named: `rules apply`, `rules`, or "" for neither. */
  readonly path: string
  readonly command: Command | undefined
  readonly rest: readonly string[]
}

/** Finds the longest name at the start of the words: the command `rules apply`, else the group `rules`, else the program. */
function find(words: readonly string[]): Found {
  for (const length of [2, 1]) {
    const path = words.slice(0, length).join(" ")
    const command = commands.find(({ spec }) => spec.name === path)
    if (command !== undefined) return { path, command, rest: words.slice(length) }
  }
  const path = membersOf(words[0] ?? "").length > 0 ? (words[0] as string) : ""
  return { path, command: undefined, rest: words.slice(path === "" ? 0 : 1) }
}

function membersOf(group: string): readonly Command[] {
  return commands.filter(({ spec }) => spec.name.startsWith(`${group} `))
}

function showHelp({ path, rest }: Found, terminal: Terminal): ExitCode {
  const [word] = rest
  const isAsked = rest.includes("--help") || rest.includes("-h")
  if (word !== undefined && !(isAsked && word.startsWith("-"))) throw unknownWord(path, word)
  const help =
    path === ""
      ? programHelp(specs, terminal.style)
      : groupHelp(
          path,
          membersOf(path).map(({ spec }) => spec),
          terminal.style,
        )
  if (isAsked) terminal.print(help)
  // Help that the user did not ask for is not a result, so it goes to standard error.
  else terminal.note(help)
  return isAsked ? 0 : 2
}

function unknownWord(path: string, word: string): UsageError {
  const depth = path === "" ? 0 : 1
  const known = [
    ...new Set(
      (path === "" ? commands : membersOf(path)).map(({ spec }) => spec.name.split(" ")[depth] ?? ""),
    ),
  ]
  const guess = nearest(word, word.startsWith("-") ? ["--help", "--version"] : known)
  const hint = guess === undefined ? "" : `; did you mean ${[path, guess].filter(Boolean).join(" ")}?`
  return new UsageError(word, `unknown ${word.startsWith("-") ? "option" : "command"}${hint}`)
}

async function runCommand(
  { spec, run }: Command,
  words: readonly string[],
  environment: Environment,
): Promise<ExitCode> {
  const end = words.indexOf("--")
  const flags = end < 0 ? words : words.slice(0, end)
  if (flags.includes("--help") || flags.includes("-h")) {
    environment.terminal.print(await commandHelp(spec, environment.terminal.style))
    return 0
  }
  const parsed = spec.passThrough ? { args: {}, options: {} } : parse(spec, words)
  return await run({
    ...parsed,
    ...environment,
    catalog: specs,
    rest: spec.passThrough ? words : [],
  } as Invocation<never>)
}

function report(error: unknown, path: string, terminal: Terminal): ExitCode {
  const name = ["sluice", path].filter(Boolean).join(" ")
  if (!(error instanceof Error) || !isUserError(error)) {
    terminal.note(
      `${name}: ${terminal.noteStyle.red("unexpected error; this is a bug in sluice")}\n${inspect(error)}`,
    )
    return 1
  }
  terminal.note(`${terminal.noteStyle.bold(name)}: ${error.message}`)
  if (!isMisuse(error)) return 1
  terminal.note(terminal.noteStyle.dim(`See: ${name} --help`))
  return 2
}

/** Whether the message is written for users. Any other error is a bug, and is printed with its stack. */
function isUserError(error: Error): boolean {
  return error instanceof SluiceError || error.name === "ListenError" || error.name === "WorkerError"
}

/** Whether the command line is wrong. A configuration may also be wrong in its file, which is no misuse. */
function isMisuse(error: Error): boolean {
  if (error instanceof UsageError) return true
  const { problems = [] } = error as { problems?: readonly { readonly place?: string }[] }
  return (
    error instanceof SluiceError &&
    error.code === "CONFIG_INVALID" &&
    problems.some(({ place }) => place?.startsWith("--"))
  )
}
