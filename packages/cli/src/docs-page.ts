// Makes docs/cli.md from the specs of the commands, with the same texts as --help.

import type { CommandSpec } from "./command.js"
import { argumentText, optionRows, usageOf } from "./help.js"

export function docsPage(catalog: readonly CommandSpec[]): string {
  return `${[intro(catalog), ...catalog.map(section)].join("\n\n")}\n`
}

function intro(catalog: readonly CommandSpec[]): string {
  const rows = catalog.map(({ name, summary }) => `| [\`${name}\`](#${anchor(name)}) | ${cell(summary)} |`)
  return `# The command line

<!-- made by npm run generate, do not edit -->

\`sluice\` runs the service and the gateway, sends checks to them, manages their rules, and tests rules on access logs. It is part of the package \`@sluice/cli\`. In a clone of the repository, \`npm run build\` builds it and \`npx sluice\` runs it.

| command | |
|---|---|
${rows.join("\n")}

- **Help**: \`sluice --help\` lists the commands, and \`--help\` after a command shows its options with examples. If you misspell a command or an option, the error suggests the right one.
- **Output**: results go to standard output, progress and messages to standard error. \`--json\` prints the result as JSON. Colours and progress bars appear only in a terminal; \`NO_COLOR=1\` turns colours off.
- **Which service**: commands about rules and keys call the control plane at \`--url\`, else \`SLUICE_URL\`, else \`http://127.0.0.1:9090\`. If the control plane requires a token, pass \`--token\`, \`SLUICE_TOKEN\`, or the name of a file that contains it in \`SLUICE_TOKEN_FILE\`. If a service on this machine has generated its own token, the commands find it. Prefer the variables: other users of the machine can see flags. \`check\` and \`explain\` call the data plane at \`--url\`, else \`SLUICE_DATA_URL\`, else \`http://127.0.0.1:8080\`.
- **Files**: \`-\` is standard input. With \`--file rules.yaml\`, commands about rules work on a file instead of a service. They keep its comments, and keep its history beside it, as the service does.

| exit status | |
|---|---|
| 0 | success |
| 1 | the command found a problem (a denial, a difference, a mistake in rules) or failed (a service that does not answer). Each command below says what it means there |
| 2 | the command line is wrong; nothing was done |

An error ends with a [code](errors.md#the-command-line).`
}

function section(spec: CommandSpec): string {
  const { name, summary, description, arguments: args = [], examples, problem } = spec
  const rows = [
    ...args.map((argument) => [`<${argument.name}>`, argumentText(argument)] as const),
    ...optionRows(spec),
  ]
  const table = rows.map(([flag, text]) => `| \`${flag}\` | ${cell(text)} |`)
  return [
    `## ${name}`,
    `${summary}.${description === undefined ? "" : ` ${prose(description)}`}`,
    `\`\`\`sh\n${examples.map(({ run, does }) => `${run}   # ${does}`).join("\n")}\n\`\`\``,
    ...(table.length === 0 ? [] : [`| \`${usageOf(spec)}\` | |\n|---|---|\n${table.join("\n")}`]),
    ...(spec.passThrough ? ["[running.md](running.md#configuration) lists the settings."] : []),
    ...(problem === undefined ? [] : [`Exit status 1: ${problem}.`]),
  ].join("\n\n")
}

/** Turns the names of pages in docs/ into links. */
function prose(text: string): string {
  return text.replace(/\bdocs\/([\w-]+\.md)/g, "[$1]($1)")
}

/** Escapes what Markdown would read as HTML or as the next cell. */
function cell(text: string): string {
  return text.replaceAll("|", "\\|").replaceAll("<", "&lt;")
}

function anchor(name: string): string {
  return name.replaceAll(" ", "-")
}
