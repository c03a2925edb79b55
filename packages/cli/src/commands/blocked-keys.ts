import type { BlockedRuleKey } from "sluice/rules"
import type { BlockedKeys } from "../catalog/keys.js"
import type { ExitCode } from "../command.js"
import { controlPlane } from "../service-client.js"
import { table } from "../terminal/table.js"
import { counted, durationText } from "../terminal/text.js"

interface BlockedList {
  readonly blocks: readonly BlockedRuleKey[]
  readonly complete: boolean
}

export async function blockedKeys({ options, terminal, env }: BlockedKeys): Promise<ExitCode> {
  const list = await controlPlane(options, env).request<BlockedList>("GET", `/blocks?limit=${options.limit}`)
  if (options.json) {
    terminal.json(list)
    return 0
  }
  if (list.blocks.length === 0) terminal.note("no key is blocked")
  else
    terminal.print(
      table<BlockedRuleKey>(
        list.blocks,
        [
          { title: "RULE", text: ({ rule }) => rule },
          { title: "KEY", text: ({ key }) => key, paint: (text) => terminal.style.bold(text) },
          { title: "BLOCKED", text: (block) => `${durationText(elapsedMs(block))} ago`, right: true },
          { title: "FOR ANOTHER", text: ({ blockedForMs }) => durationText(blockedForMs), right: true },
          { title: "WHY", text: reasonOf },
        ],
        terminal.style,
      ),
    )
  if (!list.complete) terminal.note("there may be more blocked keys than these")
  return 0
}

/** By the clock of the service, which may differ from that of this machine. */
function elapsedMs({ blockedSince, blockedUntil, blockedForMs }: BlockedRuleKey): number {
  return Math.max(0, blockedUntil - blockedSince - blockedForMs)
}

function reasonOf({ limit, denials, earlier = 0 }: BlockedRuleKey): string {
  if (limit === undefined) return "by hand"
  const why = denials === undefined ? "denied too often" : counted(denials, "denial")
  return `${limit}: ${why}${earlier === 0 ? "" : `, ${counted(earlier, "block")} before`}`
}
