// Where the control plane's own token is kept, for who may read this user's files: the service writes it, the command line
// reads it. Imports little, because every command loads it.

import { readFileSync } from "node:fs"
import { homedir } from "node:os"
import { join } from "node:path"

type Environment = Readonly<Record<string, string | undefined>>

/** `~/.local/state/sluice/control-9090.token`: one for each port, because only one service has it. */
export function controlTokenFile(port: number, env: Environment = process.env): string {
  const state = env.XDG_STATE_HOME || join(homedir(), ".local", "state")
  return join(state, "sluice", `control-${port}.token`)
}

/** The token of the control plane on this port. Undefined when there is none, or when it is another user's. */
export function keptControlToken(port: number, env?: Environment): string | undefined {
  try {
    const kept = readFileSync(controlTokenFile(port, env), "utf8").trim()
    // Half of one, after a crash, is none.
    return /^sluice_[\w-]{43}$/.test(kept) ? kept : undefined
  } catch {
    return undefined
  }
}
