import { command, type Invocation, spec } from "../command.js"
import { serviceOptions } from "./options.js"

const top = spec({
  name: "top",
  summary: "Watch a service: what each rule decides, and who is denied most",
  description:
    "In a terminal it goes on until q or Ctrl-C; d and u choose between the keys denied and used most. Elsewhere it looks for a moment and prints once.",
  options: {
    by: {
      flag: "--by <what>",
      choices: ["denied", "used"],
      default: "denied",
      description: "Which keys to show.",
    },
    once: { flag: "--once", description: "Look for a moment, print, and end." },
    json: { flag: "--json", description: "Print every live event as a line of JSON." },
    ...serviceOptions,
  },
  examples: [
    { run: "sluice top", does: "the service on this machine" },
    { run: "sluice top --once --url https://limits.example.com:9090", does: "a look at another one" },
    { run: "sluice top --json | jq 'select(.type == \"store\")'", does: "only what happens to the store" },
  ],
})

export type TopInvocation = Invocation<typeof top>

export const topCommand = command(top, async (invocation) =>
  (await import("../commands/top.js")).watchTop(invocation),
)
