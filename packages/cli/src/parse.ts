// Turns the words after a command into the values of its options and arguments. Errors use the names that the help shows.

import { parseArgs } from "node:util"
import { parseDuration } from "sluice"
import { nearest } from "sluice/internal"
import { type ArgumentSpec, type CommandSpec, flagOf, type OptionSpec, UsageError } from "./command.js"

export interface Parsed {
  readonly args: Readonly<Record<string, unknown>>
  readonly options: Readonly<Record<string, unknown>>
}

export function parse(spec: CommandSpec, words: readonly string[]): Parsed {
  const known = new Map(Object.entries(spec.options ?? {}).map(([name, option]) => [name, option]))
  const byFlag = new Map([...known].map(([name, option]) => [flagOf(option).long.slice(2), name]))
  const { tokens } = parseArgs({
    args: [...words],
    options: Object.fromEntries([...known.values()].map(declared)),
    // The messages of parseArgs are written for programmers, so this file reports mistakes itself.
    strict: false,
    allowPositionals: true,
    tokens: true,
  })
  const given = new Map<string, string[]>()
  const positionals: string[] = []
  for (const token of tokens) {
    if (token.kind === "positional") positionals.push(token.value)
    if (token.kind !== "option") continue
    const name = byFlag.get(token.name)
    if (name === undefined) throw unknownFlag(token.rawName, [...known.values()])
    const option = known.get(name) as OptionSpec
    given.set(name, [...(given.get(name) ?? []), givenValue(option, token)])
  }
  const options = [...known].map(([name, option]) => [name, optionValue(option, given.get(name))])
  return { args: argumentValues(spec.arguments ?? [], positionals), options: Object.fromEntries(options) }
}

function declared(option: OptionSpec) {
  const { long, short, value } = flagOf(option)
  const type = value === undefined ? ("boolean" as const) : ("string" as const)
  return [long.slice(2), { type, ...(short === undefined ? {} : { short: short.slice(1) }) }] as const
}

function unknownFlag(raw: string, options: readonly OptionSpec[]): UsageError {
  const names = [...options.map((option) => flagOf(option).long), "--help"]
  const guess = nearest(raw, names) ?? names.find((name) => raw.length > 3 && name.startsWith(raw))
  return new UsageError(
    raw,
    guess === undefined ? "unknown option" : `unknown option; did you mean ${guess}?`,
  )
}

/** The value given with a flag; "" for a switch, which takes none. */
function givenValue(option: OptionSpec, { value }: { readonly value?: string | undefined }): string {
  const flag = flagOf(option)
  if (flag.value === undefined) {
    if (value !== undefined) throw new UsageError(flag.long, "takes no value", { found: value })
    return ""
  }
  if (value === undefined) throw new UsageError(flag.long, `needs a value: ${flag.long} <${flag.value}>`)
  return value
}

function optionValue(option: OptionSpec, given: readonly string[] | undefined): unknown {
  const { long, value } = flagOf(option)
  if (value === undefined) return given !== undefined
  if (option.many) return (given ?? (option.default === undefined ? [] : [option.default])).map(read)
  if (given !== undefined && given.length > 1)
    throw new UsageError(long, `may be given only once, and was given ${given.length} times`)
  const text = given?.[0] ?? option.default
  if (text === undefined && option.required) throw new UsageError(long, "is required")
  return text === undefined ? undefined : read(text)

  function read(text: string): unknown {
    return readValue(option, long, text)
  }
}

function readValue({ kind = "text", choices, min, max }: OptionSpec, place: string, text: string): unknown {
  checkChoice(choices, place, text)
  if (kind === "duration") return duration(place, text)
  if (kind !== "integer" && kind !== "number") return text
  const number = Number(text)
  const isRight = kind === "integer" ? /^-?\d+$/.test(text) : /^-?\d+(\.\d+)?$/.test(text)
  if (isRight && number >= (min ?? -Infinity) && number <= (max ?? Infinity)) return number
  const what = kind === "integer" ? "a whole number" : "a number"
  throw new UsageError(place, `must be ${what}${range(min, max)}`, { found: text })
}

function range(min: number | undefined, max: number | undefined): string {
  if (min !== undefined && max !== undefined) return ` from ${min} to ${max}`
  return min === undefined ? (max === undefined ? "" : ` ≤ ${max}`) : ` ≥ ${min}`
}

function duration(place: string, text: string): number {
  try {
    return parseDuration(text, place)
  } catch {
    throw new UsageError(place, 'must be a duration such as "90s", "10m", "1h"', { found: text })
  }
}

function checkChoice(choices: readonly string[] | undefined, place: string, text: string): void {
  if (choices === undefined || choices.includes(text)) return
  const guess = nearest(text, choices)
  const hint = guess === undefined ? "" : `; did you mean ${guess}?`
  throw new UsageError(place, `must be one of ${choices.join(", ")}, got ${JSON.stringify(text)}${hint}`)
}

function argumentValues(specs: readonly ArgumentSpec[], given: readonly string[]): Record<string, unknown> {
  const values = specs.map((argument, i) => {
    const { name, many, optional, choices } = argument
    const found = many ? given.slice(i) : given.slice(i, i + 1)
    if (found.length === 0 && !optional) throw new UsageError(name, "is missing")
    for (const text of found) checkChoice(choices, name, text)
    return [name, many ? found : found[0]]
  })
  const extra = specs.at(-1)?.many ? undefined : given[specs.length]
  if (extra !== undefined) throw new UsageError(extra, "unexpected argument")
  return Object.fromEntries(values)
}
