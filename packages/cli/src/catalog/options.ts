// Options that several commands share, said once.

import type { OptionSpec } from "../command.js"

export const jsonOption = {
  flag: "--json",
  description: "Print the result as JSON.",
} as const satisfies OptionSpec

/** For commands that ask the control plane. */
export const serviceOptions = {
  url: {
    flag: "--url <address>",
    description: "The control plane of a service. Default: $SLUICE_URL, else http://127.0.0.1:9090.",
  },
  token: {
    flag: "--token <token>",
    description:
      "Who you are to it. Default: $SLUICE_TOKEN, the content of the file $SLUICE_TOKEN_FILE, or what a service on this machine keeps.",
  },
} as const satisfies Record<string, OptionSpec>

/** For commands that work on a file of rules as well as on a service. */
export const placeOptions = {
  file: {
    flag: "-f, --file <rules>",
    kind: "file",
    description: "Work on this file of rules, not on a service. Its comments stay.",
  },
  ...serviceOptions,
} as const satisfies Record<string, OptionSpec>

export const commentOption = {
  flag: "-m, --comment <text>",
  description: "Why, for the history.",
} as const satisfies OptionSpec

export const dryRunOption = {
  flag: "--dry-run",
  description: "Show what would change, and change nothing.",
} as const satisfies OptionSpec
