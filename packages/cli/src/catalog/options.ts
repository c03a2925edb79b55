// Options that several commands share.

import type { OptionSpec } from "../command.js"

export const jsonOption = {
  flag: "--json",
  description: "Print the result as JSON.",
} as const satisfies OptionSpec

/** For commands that call the control plane. */
export const serviceOptions = {
  url: {
    flag: "--url <address>",
    description: "The control plane of a service. Default: $SLUICE_URL, else http://127.0.0.1:9090.",
  },
  token: {
    flag: "--token <token>",
    description:
      "Your token for the control plane. Default: $SLUICE_TOKEN, else the content of the file $SLUICE_TOKEN_FILE, else the token that a service on this machine generated.",
  },
} as const satisfies Record<string, OptionSpec>

/** For commands that work on a rules file as well as on a service. */
export const locationOptions = {
  file: {
    flag: "-f, --file <rules>",
    kind: "file",
    description: "Work on this rules file instead of a service. Comments in the file are kept.",
  },
  ...serviceOptions,
} as const satisfies Record<string, OptionSpec>

export const commentOption = {
  flag: "-m, --comment <text>",
  description: "The reason for the change, shown in the history.",
} as const satisfies OptionSpec

export const dryRunOption = {
  flag: "--dry-run",
  description: "Show what would change, and change nothing.",
} as const satisfies OptionSpec
