import { importEnvoyConfig } from "sluice/rules"
import { stringify } from "yaml"
import type { ImportRules } from "../../catalog/rules.js"
import type { ExitCode } from "../../command.js"
import { nameOf, readInput } from "../../files.js"
import { counted, printable } from "../../terminal/text.js"

export async function importRules({ args, options, terminal }: ImportRules): Promise<ExitCode> {
  const texts: string[] = []
  for (const path of args.config) texts.push(await readInput(path, terminal.stdin))
  const { document, notes } = importEnvoyConfig(texts, {
    name: args.config.map(nameOf),
    mergeDomains: options.mergeDomains,
  })
  if (options.json) terminal.json({ document, notes })
  else terminal.print(stringify(document, { lineWidth: 0 }).trimEnd())
  for (const { line, column, path, message } of notes) {
    const place = line === undefined ? "" : `${line}:${column} `
    terminal.note(printable(`${place}${path} ${message}`))
  }
  terminal.note(
    terminal.noteStyle.dim(`${counted(document.rules.length, "rule")}, ${counted(notes.length, "note")}`),
  )
  return 0
}
