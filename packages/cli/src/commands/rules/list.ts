import type { LimitSpec, RuleSpec } from "sluice/rules"
import type { ListRules } from "../../catalog/rules.js"
import type { ExitCode } from "../../command.js"
import { ruleHome } from "../../rules/rule-home.js"
import { table } from "../../table.js"
import { counted } from "../../words.js"

export async function listRules(invocation: ListRules): Promise<ExitCode> {
  const { options, terminal } = invocation
  const { style } = terminal
  const home = await ruleHome(invocation)
  const { document, revision } = await home.read()
  const { rules } = document
  if (options.json) {
    terminal.json(rules)
    return 0
  }
  const at = revision === undefined ? "" : `, revision ${revision}`
  terminal.note(terminal.noteStyle.dim(`${home.name}: ${counted(rules.length, "rule")}${at}`))
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

function limitText({ limit, window, algorithm }: LimitSpec): string {
  const time = typeof window === "number" ? `${window}ms` : window
  return `${limit}/${time}${algorithm === undefined ? "" : ` ${algorithm}`}`
}
