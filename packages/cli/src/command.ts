// What a command is: a spec, which the parser, the help, docs/cli.md and shell completion read, and a function that loads
// the command's code when it runs.

import { SluiceError } from "sluice"
import type { Terminal } from "./terminal/terminal.js"

/** 0: success. 1: the command found a problem or failed. 2: the command line is wrong, and nothing was done. */
export type ExitCode = 0 | 1 | 2

/** How the parser reads a value and the shell completes it. A command gets a duration ("10m") in milliseconds. */
export type ValueKind = "text" | "file" | "folder" | "integer" | "number" | "duration"

export interface OptionSpec {
  /** `--rules <file>`, `-n, --limit <count>`, `--shadow`. Its name is the long one, in camel case. */
  readonly flag: string
  readonly description: string
  /** Default: text. A switch has none. */
  readonly kind?: ValueKind
  readonly choices?: readonly string[]
  /** As a user would write it. */
  readonly default?: string
  readonly required?: true
  /** May be given several times. */
  readonly many?: true
  /** The smallest number allowed. */
  readonly min?: number
  /** The largest number allowed. */
  readonly max?: number
}

export interface ArgumentSpec {
  readonly name: string
  readonly description: string
  readonly kind?: "text" | "file"
  readonly choices?: readonly string[]
  /** Default: it is required. */
  readonly optional?: true
  /** Takes one or more values. Only the last argument may. */
  readonly many?: true
}

export interface Example {
  readonly run: string
  /** What it does, in a few words. */
  readonly does: string
}

export interface CommandSpec {
  /** `replay`, `rules apply`. */
  readonly name: string
  /** One line without a full stop. */
  readonly summary: string
  /** More, in whole sentences. */
  readonly description?: string
  readonly arguments?: readonly ArgumentSpec[]
  readonly options?: Readonly<Record<string, OptionSpec>>
  readonly examples: readonly Example[]
  /** What exit status 1 means, if it says more than "it failed". */
  readonly problem?: string
  /** The command parses its arguments itself and gets them as `rest`. */
  readonly passThrough?: true
  /** More text for `--help`, computed when it is shown. */
  readonly moreHelp?: () => Promise<string>
}

/** What a command runs with. */
export interface Invocation<S extends CommandSpec = CommandSpec> {
  readonly args: ArgumentValues<S>
  readonly options: OptionValues<S>
  /** The arguments as they were given, for a command with `passThrough`. */
  readonly rest: readonly string[]
  readonly terminal: Terminal
  readonly env: Readonly<Record<string, string | undefined>>
  /** The specs of all commands, for shell completion. */
  readonly catalog: readonly CommandSpec[]
}

export interface Command {
  readonly spec: CommandSpec
  readonly run: (invocation: Invocation<never>) => Promise<ExitCode>
}

/** Keeps the literal types of a spec, from which the types of its options and arguments are inferred. */
export function spec<const S extends CommandSpec>(spec: S): S {
  return spec
}

/** Joins a spec with its code. `run` imports that code, so that starting the program does not load it. */
export function command<S extends CommandSpec>(
  spec: S,
  run: (invocation: Invocation<S>) => Promise<ExitCode>,
): Command {
  return { spec, run: run as Command["run"] }
}

/** The codes of the errors that the command `sluice` throws, each with its meaning. docs/errors.md explains them. */
export const commandErrorCodes = {
  USAGE_INVALID: "The command line has an unknown command or option, or a value that cannot be read.",
  SERVICE_UNREACHABLE: "The service does not answer a command, or something else answers at its address.",
} as const

declare module "sluice" {
  interface ErrorCodes extends Record<keyof typeof commandErrorCodes, string> {}
}

/** A mistake on the command line. The program prints it with a pointer to the help and exits with 2. */
export class UsageError extends SluiceError {
  constructor(place: string, expected: string, found?: { readonly found: unknown }) {
    super("USAGE_INVALID", { place, expected, ...found })
  }
}

/** The parts of `-n, --limit <count>`. */
export interface Flag {
  /** `--limit` */
  readonly long: string
  /** `-n` */
  readonly short: string | undefined
  /** `count`; undefined for a switch. */
  readonly value: string | undefined
}

export function flagOf({ flag }: OptionSpec): Flag {
  const parts = /^(?:(-\w), )?(--[\w-]+)(?: <([^>]+)>)?$/.exec(flag)
  if (parts?.[2] === undefined) throw new Error(`not a flag such as "-n, --limit <count>": "${flag}"`)
  return { long: parts[2], short: parts[1], value: parts[3] }
}

type Value<K> = K extends "integer" | "number" | "duration" ? number : string

type OptionValue<O extends OptionSpec> = O["flag"] extends `${string}<${string}`
  ? O extends { many: true }
    ? readonly Value<O["kind"]>[]
    : O extends { default: string } | { required: true }
      ? Value<O["kind"]>
      : Value<O["kind"]> | undefined
  : boolean

export type OptionValues<S extends CommandSpec> =
  S["options"] extends Readonly<Record<string, OptionSpec>>
    ? { readonly [Name in keyof S["options"]]: OptionValue<S["options"][Name]> }
    : Readonly<Record<never, never>>

type ArgumentValue<A extends ArgumentSpec> = A extends { many: true }
  ? readonly string[]
  : A extends { optional: true }
    ? string | undefined
    : string

export type ArgumentValues<S extends CommandSpec> = S["arguments"] extends readonly ArgumentSpec[]
  ? { readonly [A in S["arguments"][number] as A["name"]]: ArgumentValue<A> }
  : Readonly<Record<never, never>>
