import { type Invocation, spec } from "../command.js"
import { serviceOptions } from "./options.js"

export const top = spec({
  name: "top",
  summary: "Watch a service: the decisions of each rule, and the keys that are denied most",
  description:
    "In a terminal, the view updates until you press q or Ctrl-C; d and u switch between the keys that are denied and used most. Without a terminal, the command watches for two seconds and prints once.",
  options: {
    by: {
      flag: "--by <what>",
      choices: ["denied", "used"],
      default: "denied",
      description: "Which keys to show first.",
    },
    once: { flag: "--once", description: "Watch for two seconds, print, and exit." },
    json: { flag: "--json", description: "Print each live event as a line of JSON." },
    ...serviceOptions,
  },
  examples: [
    { run: "sluice top", does: "the service on this machine" },
    {
      run: "sluice top --once --url https://limits.example.com:9090",
      does: "one snapshot of another service",
    },
    { run: "sluice top --json | jq 'select(.type == \"store\")'", does: "only events of the store" },
  ],
})

export type TopInvocation = Invocation<typeof top>
