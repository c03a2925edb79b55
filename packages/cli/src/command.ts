// What a command is: data, from which its help, docs/cli.md, shell completion and the parser are made, and a function
// that loads its code when it runs.

import type { Terminal } from "./terminal.js"

/** 0: fine. 1: a problem was found. 2: the command was not used right. */
export type ExitCode = 0 | 1 | 2

/** How a value is read, and completed. A duration ("10m") is given to the command in milliseconds. */
export type ValueKind = "text" | "file" | "folder" | "integer" | "number" | "duration"

export interface OptionSpec {
  /** `--rules <file>`, `-n, --limit <count>`, `--shadow`. Its name is the long one, in camel case. */
  readonly flag: string
  readonly description: string
  /** Default: text. Of no meaning for a switch. */
  readonly kind?: ValueKind
  readonly choices?: readonly string[]
  /** As it would be written. */
  readonly default?: string
  readonly required?: true
  /** May be given several times. */
  readonly many?: true
  /** Of a number. */
  readonly min?: number
  readonly max?: number
}

export interface ArgumentSpec {
  readonly name: string
  readonly description: string
  readonly kind?: "text" | "file"
  readonly choices?: readonly string[]
  /** Default: it is required. */
  readonly optional?: true
  /** One or more; only the last argument. */
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
  /** One line, without a full stop. */
  readonly summary: string
  /** More, in whole sentences. */
  readonly description?: string
  readonly arguments?: readonly ArgumentSpec[]
  readonly options?: Readonly<Record<string, OptionSpec>>
  readonly examples: readonly Example[]
  /** When it ends with 1, if that says more than "it failed". */
  readonly problem?: string
  /** Hands every argument on as it is, for a command that reads flags of its own. */
  readonly passThrough?: true
  /** What else `--help` shows, made when somebody asks. */
  readonly moreHelp?: () => Promise<string>
}

/** What a command is run with. */
export interface Invocation<S extends CommandSpec = CommandSpec> {
  readonly args: ArgumentValues<S>
  readonly options: OptionValues<S>
  /** What was handed on as it is, for a command that asks for that. */
  readonly rest: readonly string[]
  readonly terminal: Terminal
  readonly env: Readonly<Record<string, string | undefined>>
  /** Every command there is, for one that tells of the others. */
  readonly catalog: readonly Command[]
}

export interface Command {
  readonly spec: CommandSpec
  readonly run: (invocation: Invocation<never>) => Promise<ExitCode>
}

/** Keeps the literal types, so that a command knows the types of its options. */
export function spec<const S extends CommandSpec>(spec: S): S {
  return spec
}

/** `run` imports the code of the command: nothing of it is loaded before. */
export function command<S extends CommandSpec>(
  spec: S,
  run: (invocation: Invocation<S>) => Promise<ExitCode>,
): Command {
  return { spec, run: run as Command["run"] }
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
