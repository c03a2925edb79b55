// What there is to complete, for every shell the same.

import type { ArgumentSpec, Command, OptionSpec } from "../command.js"
import { flagOf } from "../flag.js"

/** What may stand in a place: nothing that is known, a path, or one of these. */
export type Values = "none" | "files" | "folders" | readonly string[]

export interface CompletedFlag {
  readonly long: string
  readonly short: string | undefined
  readonly description: string
  /** Undefined for a switch. */
  readonly values: Values | undefined
}

export interface CompletedCommand {
  /** `rules apply` */
  readonly name: string
  readonly summary: string
  readonly flags: readonly CompletedFlag[]
  /** In their order; the last one goes on if it may be given several times. */
  readonly arguments: readonly { readonly name: string; readonly values: Values; readonly many: boolean }[]
}

export interface CompletedGroup {
  readonly name: string
  readonly members: readonly CompletedCommand[]
}

const HELP: CompletedFlag = {
  long: "--help",
  short: "-h",
  description: "Help with examples",
  values: undefined,
}

/** `settings` are the flags of commands that hand theirs on. */
export function completedCommands(
  catalog: readonly Command[],
  settings: readonly CompletedFlag[],
): CompletedCommand[] {
  return catalog.map(({ spec }) => ({
    name: spec.name,
    summary: spec.summary,
    flags: [
      ...Object.values(spec.options ?? {}).map(completedFlag),
      ...(spec.passThrough ? settings : []),
      HELP,
    ],
    arguments: (spec.arguments ?? []).map((argument) => ({
      name: argument.name,
      values: valuesOf(argument),
      many: argument.many === true,
    })),
  }))
}

/** Commands of two words, by the first. */
export function groupsIn(commands: readonly CompletedCommand[]): CompletedGroup[] {
  const names = new Set(commands.flatMap(({ name }) => (name.includes(" ") ? [firstWord(name)] : [])))
  return [...names].map((name) => ({
    name,
    members: commands.filter((command) => command.name.startsWith(`${name} `)),
  }))
}

/** What stands right behind `sluice`. */
export function firstWords(
  commands: readonly CompletedCommand[],
): { readonly word: string; readonly summary: string }[] {
  const words = new Map<string, string>()
  for (const { name, summary } of commands) {
    const [first = "", second] = name.split(" ")
    if (second === undefined) words.set(first, summary)
    else words.set(first, [words.get(first), second].filter(Boolean).join(", "))
  }
  return [...words].map(([word, summary]) => ({ word, summary }))
}

export function lastWord(name: string): string {
  return name.slice(name.indexOf(" ") + 1)
}

function firstWord(name: string): string {
  return name.slice(0, name.indexOf(" "))
}

function completedFlag(option: OptionSpec): CompletedFlag {
  const { long, short, value } = flagOf(option)
  return {
    long,
    short,
    description: option.description,
    values: value === undefined ? undefined : valuesOf(option),
  }
}

function valuesOf({ choices, kind }: Pick<OptionSpec | ArgumentSpec, "choices" | "kind">): Values {
  if (choices !== undefined) return choices
  if (kind === "file") return "files"
  return kind === "folder" ? "folders" : "none"
}
