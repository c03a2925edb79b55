// The commands that show rules: list, get, history.

import { SluiceError } from "sluice"
import type { LimitSpec, RevisionInfo, RuleSpec } from "sluice/rules"
import { stringify } from "yaml"
import type { GetRules, ListRules, RulesHistory } from "../../catalog/rules.js"
import type { ExitCode } from "../../command.js"
import { table } from "../../terminal/table.js"
import { counted, timeText } from "../../terminal/text.js"
import { changesText } from "./change.js"
import { openLocation } from "./open-location.js"

export async function listRules(invocation: ListRules): Promise<ExitCode> {
  const { options, terminal } = invocation
  const { style } = terminal
  const location = await openLocation(invocation)
  const { document, revision } = await location.read()
  const { rules } = document
  if (options.json) {
    terminal.json(rules)
    return 0
  }
  const at = revision === undefined ? "" : `, revision ${revision}`
  terminal.note(terminal.noteStyle.dim(`${location.name}: ${counted(rules.length, "rule")}${at}`))
  if (rules.length === 0) return 0
  terminal.print(
    table<RuleSpec>(
      rules,
      [
        { title: "RULE", text: ({ id }) => id, paint: (text) => style.bold(text) },
        {
          title: "MODE",
          text: ({ mode = "enforce" }) => mode,
          paint: (text, { mode }) => (mode === "shadow" || mode === "off" ? style.yellow(text) : text),
        },
        { title: "MATCH", text: matchText },
        { title: "KEY", text: ({ keyBy = "ip" }) => [keyBy].flat().join(" + ") },
        {
          title: "LIMITS",
          text: ({ limits }) => (limits === "unlimited" ? limits : limits.map(limitText).join(", ")),
        },
      ],
      style,
    ),
  )
  return 0
}

function matchText({ match = {} }: RuleSpec): string {
  const { method, host, path, ...others } = match
  const request = [method, host, path].flatMap((part) =>
    part === undefined ? [] : [[part].flat().join("|")],
  )
  const more = Object.keys(others).map((name) => `+${name}`)
  return [...request, ...more].join(" ") || "everything"
}

function limitText({ limit, window, timeZone, algorithm }: LimitSpec): string {
  const time = typeof window === "number" ? `${window}ms` : window
  const zone = timeZone === undefined ? "" : ` ${timeZone}`
  return `${limit}/${time}${zone}${algorithm === undefined ? "" : ` ${algorithm}`}`
}

export async function getRules(invocation: GetRules): Promise<ExitCode> {
  const { args, options, terminal } = invocation
  const location = await openLocation(invocation)
  const { revision } = options
  const current = revision === undefined ? await location.read() : undefined
  const document = current?.document ?? (await location.revision(revision as number))
  const shown = args.id === undefined ? document : document.rules.find(({ id }) => id === args.id)
  if (shown === undefined)
    throw new SluiceError("RULE_UNKNOWN", {
      place: location.name,
      expected: `has no rule ${JSON.stringify(args.id)}`,
    })
  if (options.json) terminal.json(shown)
  else {
    // A whole file is printed as it is, with its comments.
    const isWhole = args.id === undefined && current !== undefined
    terminal.print((isWhole ? current.text : stringify(shown, { lineWidth: 0 })).trimEnd())
  }
  return 0
}

export async function rulesHistory(invocation: RulesHistory): Promise<ExitCode> {
  const { options, terminal } = invocation
  const { style } = terminal
  const revisions = (await (await openLocation(invocation)).history()).slice(0, options.limit)
  if (options.json) {
    terminal.json(revisions)
    return 0
  }
  terminal.print(
    table<RevisionInfo>(
      revisions,
      [
        {
          title: "REVISION",
          text: ({ revision }) => String(revision),
          right: true,
          paint: (text) => style.bold(text),
        },
        { title: "WHEN (UTC)", text: ({ changedAt }) => timeText(changedAt) },
        { title: "BY", text: ({ changedBy }) => changedBy },
        { title: "WHAT", text: ({ changes }) => changesText(changes) },
        { title: "WHY", text: ({ comment = "" }) => comment },
      ],
      style,
    ),
  )
  return 0
}
