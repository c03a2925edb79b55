// The help that --help prints. docs-page.ts makes docs/cli.md from the same specs.

import { type ArgumentSpec, type CommandSpec, flagOf, type OptionSpec } from "./command.js"
import type { Style } from "./terminal/terminal.js"

/** The text of `sluice --help`. A group such as `rules` takes one line that names its commands. */
export function programHelp(catalog: readonly CommandSpec[], style: Style): string {
  const lines = new Map<string, string>()
  for (const { name, summary } of catalog) {
    const [first = "", second] = name.split(" ")
    if (second === undefined) lines.set(first, summary)
    else lines.set(first, [lines.get(first), second].filter(Boolean).join(", "))
  }
  return [
    "Sluice is a rate limiter: a service, a gateway, and the tools to manage their rules.",
    "",
    `${style.bold("Usage:")} sluice <command> [options]`,
    "",
    style.bold("Commands:"),
    ...table([...lines]),
    "",
    ...exampleLines(
      [
        { run: "sluice serve --rules.file rules.yaml", does: "run the service" },
        { run: "sluice replay access.log --rules rules.yaml", does: "test rules on recorded traffic" },
        { run: "sluice top", does: "watch a running service" },
      ],
      style,
    ),
    "",
    style.bold("Options and environment variables of all commands:"),
    ...table([
      ["--help", "Show help with examples, also for one command: sluice check --help"],
      ["--version", "Print the version"],
      ["$SLUICE_URL", "The address of the control plane. Default: http://127.0.0.1:9090"],
      [
        "$SLUICE_DATA_URL",
        "The address of the data plane, for check and explain. Default: http://127.0.0.1:8080",
      ],
      ["$SLUICE_TOKEN", "Your token for the control plane. $SLUICE_TOKEN_FILE names a file that contains it"],
      ["$NO_COLOR", "Turns colours off"],
    ]),
    "",
    "Results go to standard output, everything else to standard error.",
    "Exit status: 0 success, 1 a problem was found or the command failed, 2 the command line is wrong.",
  ].join("\n")
}

export function groupHelp(group: string, members: readonly CommandSpec[], style: Style): string {
  return [
    `${style.bold("Usage:")} sluice ${group} <command> [options]`,
    "",
    style.bold("Commands:"),
    ...table(members.map(({ name, summary }) => [name.slice(group.length + 1), summary])),
    "",
    `For help with examples: sluice ${group} <command> --help`,
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
    ...section("Options:", [...optionRows(spec), ["-h, --help", "Show this help."]]),
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

/** Lines of two columns. The second column wraps. */
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
