import type { RevisionInfo } from "sluice/rules"
import type { RulesHistory } from "../../catalog/rules.js"
import type { ExitCode } from "../../command.js"
import { changesText } from "../../rules/changes.js"
import { ruleHome } from "../../rules/rule-home.js"
import { table } from "../../table.js"
import { timeText } from "../../words.js"

export async function rulesHistory(invocation: RulesHistory): Promise<ExitCode> {
  const { options, terminal } = invocation
  const { style } = terminal
  const revisions = (await (await ruleHome(invocation)).history()).slice(0, options.limit)
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
