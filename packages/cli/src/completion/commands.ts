// What a shell can complete, in a form that the scripts for all shells are made from.

import { type ArgumentSpec, type CommandSpec, flagOf, type OptionSpec } from "../command.js"

/** What completes a value: nothing, paths, or a list of words. */
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
  /** In their order. `many`: the last argument takes all further words. */
  readonly arguments: readonly { readonly name: string; readonly values: Values; readonly many: boolean }[]
}

export interface CompletedGroup {
  readonly name: string
  readonly members: readonly CompletedCommand[]
}

const HELP: CompletedFlag = {
  long: "--help",
  short: "-h",
  description: "Show help with examples",
  values: undefined,
}

/** `settings` are the flags of commands with `passThrough`. */
export function completedCommands(
  catalog: readonly CommandSpec[],
  settings: readonly CompletedFlag[],
): CompletedCommand[] {
  return catalog.map((spec) => ({
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

/** Commands of two words, grouped by the first word. */
export function groupsIn(commands: readonly CompletedCommand[]): CompletedGroup[] {
  const names = new Set(commands.flatMap(({ name }) => (name.includes(" ") ? [firstWord(name)] : [])))
  return [...names].map((name) => ({
    name,
    members: commands.filter((command) => command.name.startsWith(`${name} `)),
  }))
}

/** The words that can follow `sluice`, each with a summary. The summary of a group lists its commands. */
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
