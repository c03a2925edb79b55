// The file that holds the control plane's own token. The service writes it and the command line reads it; both run as the same
// user. Every command loads this module, so it imports little.

import { readFileSync } from "node:fs"
import { homedir } from "node:os"
import { join } from "node:path"

type Environment = Readonly<Record<string, string | undefined>>

/** The file for this port: `~/.local/state/sluice/control-9090.token`. */
export function controlTokenFile(port: number, env: Environment = process.env): string {
  const state = env.XDG_STATE_HOME || join(homedir(), ".local", "state")
  return join(state, "sluice", `control-${port}.token`)
}

/** Reads the token of the control plane on this port. Undefined if there is none, or if another user owns it. */
export function keptControlToken(port: number, env?: Environment): string | undefined {
  try {
    const kept = readFileSync(controlTokenFile(port, env), "utf8").trim()
    // A crash can leave half a token.
    return /^sluice_[\w-]{43}$/.test(kept) ? kept : undefined
  } catch {
    return undefined
  }
}
