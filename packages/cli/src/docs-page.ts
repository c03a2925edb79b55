// docs/cli.md, from the specs of the commands: what --help says, for reading.

import type { Command, CommandSpec } from "./command.js"
import { argumentText, optionRows, usageOf } from "./help.js"

export function docsPage(catalog: readonly Command[]): string {
  return `${[intro(catalog), ...catalog.map(({ spec }) => section(spec))].join("\n\n")}\n`
}

function intro(catalog: readonly Command[]): string {
  const rows = catalog.map(
    ({ spec }) => `| [\`${spec.name}\`](#${anchor(spec.name)}) | ${cell(spec.summary)} |`,
  )
  return `# The command line

<!-- made by npm run generate, do not edit -->

\`sluice\` runs the service and the gateway, asks them, changes their rules, and tries rules on logs. It is in the package \`@sluice/cli\`; here in the repository, \`npm run build\` makes it and \`npx sluice\` runs it.

| command | |
|---|---|
${rows.join("\n")}

- **Help**: \`sluice --help\`, and \`--help\` behind every command, with examples. A misspelt command or option is answered with the one that was meant.
- **Output**: results are on standard output, progress and notes on standard error. \`--json\` prints the result for programs. Colours, bars and the like are for terminals only, and none come with \`NO_COLOR\`.
- **Which service**: commands about rules and keys ask the control plane at \`--url\`, else \`SLUICE_URL\`, else \`http://127.0.0.1:9090\`. If it wants a token: \`--token\`, \`SLUICE_TOKEN\`, or \`SLUICE_TOKEN_FILE\` with the name of a file that holds it; the token that a service on this machine has made for itself is found without. Prefer the variables: a flag can be seen by others on the machine. \`check\` and \`explain\` ask the data plane: \`--url\`, else \`SLUICE_DATA_URL\`, else \`http://127.0.0.1:8080\`.
- **Files**: \`-\` is standard input. Commands about rules work on a file with \`--file rules.yaml\`; its comments stay, and its history is kept beside it, as the service does.

| exit status | |
|---|---|
| 0 | fine |
| 1 | a problem was found: a denial, a difference, a mistake in rules, a service that does not answer. Each command says below what it means there |
| 2 | the command line is wrong: nothing was done |

Errors are one line with a [code](errors.md#the-command-line).`
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
    ...(spec.passThrough ? ["Its settings are listed in [running.md](running.md#configuration)."] : []),
    ...(problem === undefined ? [] : [`Exit status 1: ${problem}.`]),
  ].join("\n\n")
}

/** Pages of these docs are links in them. */
function prose(text: string): string {
  return text.replace(/\bdocs\/([\w-]+\.md)/g, "[$1]($1)")
}

/** Angle brackets would be taken for HTML, and bars for the next cell. */
function cell(text: string): string {
  return text.replaceAll("|", "\\|").replaceAll("<", "&lt;")
}

function anchor(name: string): string {
  return name.replaceAll(" ", "-")
}
