// Help in a terminal. docs/cli.md is made from the same specs.

import type { ArgumentSpec, Command, CommandSpec, OptionSpec } from "./command.js"
import { flagOf } from "./flag.js"
import type { Style } from "./style.js"

/** What `sluice --help` says. A group is one line: its commands have help of their own. */
export function programHelp(catalog: readonly Command[], style: Style): string {
  const lines = new Map<string, string>()
  for (const { spec } of catalog) {
    const [first = "", second] = spec.name.split(" ")
    if (second === undefined) lines.set(first, spec.summary)
    else lines.set(first, [lines.get(first), second].filter(Boolean).join(", "))
  }
  return [
    "Sluice: a rate limiter, and what goes with it.",
    "",
    `${style.bold("Usage:")} sluice <command> [options]`,
    "",
    style.bold("Commands:"),
    ...table([...lines]),
    "",
    ...exampleLines(
      [
        { run: "sluice serve --rules.file rules.yaml", does: "run the service" },
        { run: "sluice replay access.log --rules rules.yaml", does: "try rules on yesterday's traffic" },
        { run: "sluice top", does: "watch a running service" },
      ],
      style,
    ),
    "",
    style.bold("Everywhere:"),
    ...table([
      ["--help", "Help with examples: sluice check --help"],
      ["--version", ""],
      ["$SLUICE_URL", "The control plane that commands ask. Default: http://127.0.0.1:9090"],
      ["$SLUICE_DATA_URL", "The data plane that check and explain ask. Default: http://127.0.0.1:8080"],
      ["$SLUICE_TOKEN", "Who you are to the control plane; $SLUICE_TOKEN_FILE names a file that holds it"],
      ["$NO_COLOR", "No colours"],
    ]),
    "",
    "Results go to standard output, everything else to standard error.",
    "Exit status: 0 fine, 1 a problem was found, 2 the command line is wrong.",
  ].join("\n")
}

export function groupHelp(group: string, members: readonly Command[], style: Style): string {
  return [
    `${style.bold("Usage:")} sluice ${group} <command> [options]`,
    "",
    style.bold("Commands:"),
    ...table(members.map(({ spec }) => [spec.name.slice(group.length + 1), spec.summary])),
    "",
    `Help with examples: sluice ${group} <command> --help`,
  ].join("\n")
}

export async function commandHelp(spec: CommandSpec, style: Style): Promise<string> {
  const parts = [
    spec.summary + (/[.!?]$/.test(spec.summary) ? "" : "."),
    ...(spec.description === undefined ? [] : ["", wrapped(spec.description, 96).join("\n")]),
    "",
    `${style.bold("Usage:")} ${usageOf(spec)}`,
    ...section(
      "Arguments:",
      (spec.arguments ?? []).map((argument) => [argument.name, argumentText(argument)]),
    ),
    ...section("Options:", [...optionRows(spec), ["-h, --help", "This help."]]),
    "",
    ...exampleLines(spec.examples, style),
    ...(spec.problem === undefined ? [] : ["", `Exit status 1: ${spec.problem}.`]),
    ...(spec.moreHelp === undefined ? [] : ["", (await spec.moreHelp()).trimEnd()]),
  ]
  return parts.join("\n")

  function section(title: string, rows: readonly (readonly [string, string])[]): string[] {
    return rows.length === 0 ? [] : ["", style.bold(title), ...table(rows)]
  }
}

/** `sluice rules apply <rules> [options]` */
export function usageOf({ name, arguments: args = [], passThrough }: CommandSpec): string {
  const words = args.map(({ name, optional, many }) => {
    const word = `<${name}>${many ? "…" : ""}`
    return optional ? `[${word}]` : word
  })
  return ["sluice", name, ...words, passThrough ? "[settings]" : "[options]"].join(" ")
}

export function optionRows({ options = {} }: CommandSpec): (readonly [flag: string, text: string])[] {
  return Object.values(options).map((option) => [option.flag, optionText(option)])
}

function optionText(option: OptionSpec): string {
  const { description, choices, default: byDefault, many, required } = option
  return [
    description,
    ...(choices === undefined ? [] : [`One of ${choices.join(", ")}.`]),
    ...(byDefault === undefined ? [] : [`Default: ${byDefault}.`]),
    ...(required ? ["Required."] : []),
    ...(many && flagOf(option).value !== undefined ? ["May be given several times."] : []),
  ].join(" ")
}

export function argumentText({ description, choices }: ArgumentSpec): string {
  return choices === undefined ? description : `${description} One of ${choices.join(", ")}.`
}

function exampleLines(examples: CommandSpec["examples"], style: Style): string[] {
  return [
    style.bold("Examples:"),
    ...examples.flatMap(({ run, does }) => [`  ${style.dim(`# ${does}`)}`, `  ${run}`]),
  ]
}

const GAP = 2
const WIDTH = 100

/** Two columns, the second wrapped under itself. */
function table(rows: readonly (readonly [string, string])[]): string[] {
  const left = Math.max(...rows.map(([name]) => name.length)) + GAP
  return rows.flatMap(([name, text]) =>
    wrapped(text, WIDTH - left - 2).map((line, i) =>
      `  ${(i === 0 ? name : "").padEnd(left)}${line}`.trimEnd(),
    ),
  )
}

function wrapped(text: string, width: number): string[] {
  const lines = [""]
  for (const word of text.split(" ")) {
    const last = lines.at(-1) as string
    if (last === "") lines[lines.length - 1] = word
    else if (last.length + 1 + word.length <= width) lines[lines.length - 1] = `${last} ${word}`
    else lines.push(word)
  }
  return lines
}
