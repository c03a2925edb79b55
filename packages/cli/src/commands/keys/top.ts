import type { TopKeys } from "../../catalog/keys.js"
import type { ExitCode } from "../../command.js"
import { controlPlane } from "../../service.js"
import { table } from "../../table.js"

export interface TopKey {
  readonly rule: string
  readonly key: string
  readonly count: number
  readonly error: number
}

export async function topKeys({ options, terminal, env }: TopKeys): Promise<ExitCode> {
  const { by, limit } = options
  const keys = await controlPlane(options, env).ask<TopKey[]>("GET", `/top?by=${by}&limit=${limit}`)
  if (options.json) terminal.json(keys)
  else if (keys.length === 0) terminal.note(`no key was ${by} of late`)
  else
    terminal.print(
      table<TopKey>(
        keys,
        [
          {
            title: by.toUpperCase(),
            text: ({ count }) => Math.round(count).toLocaleString("en"),
            right: true,
          },
          {
            title: "±",
            text: ({ error }) => (error < 0.5 ? "" : Math.round(error).toLocaleString("en")),
            right: true,
          },
          { title: "RULE", text: ({ rule }) => rule },
          { title: "KEY", text: ({ key }) => key, paint: (text) => terminal.style.bold(text) },
        ],
        terminal.style,
      ),
    )
  return 0
}
