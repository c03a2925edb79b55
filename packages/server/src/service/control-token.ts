// A control plane without configured tokens makes one of its own. To believe whoever is on this machine is not enough: a proxy
// in front passes on requests of others, and in its default settings says nothing of them.

import { mkdirSync, rmSync, writeFileSync } from "node:fs"
import { dirname } from "node:path"
import type { Config } from "../config/schema.js"
import type { RoleTokenSpec } from "../control/roles.js"
import { newToken } from "../http/tokens.js"
import type { Log } from "../telemetry/index.js"
import { controlTokenFile, keptControlToken } from "./control-token-file.js"

export interface ControlToken {
  readonly token: string
  /** Where it is kept; undefined when it is known to this process only. */
  readonly file: string | undefined
}

/** Undefined where tokens are configured, and where none is asked for. */
export function ownControlToken({ control }: Pick<Config, "control">, log: Log): ControlToken | undefined {
  if (!control.enabled || control.open || control.tokens.length > 0) return undefined
  // Any port will do, so nobody could look for the file of this one.
  if (control.port === 0) return { token: newToken(), file: undefined }
  const kept = keptControlToken(control.port)
  const file = controlTokenFile(control.port)
  if (kept !== undefined) return { token: kept, file }
  const token = newToken()
  try {
    mkdirSync(dirname(file), { recursive: true, mode: 0o700 })
    rmSync(file, { force: true })
    // Not one that is there already: somebody may have put a link there, or hold it open.
    writeFileSync(file, `${token}\n`, { mode: 0o600, flag: "wx" })
    return { token, file }
  } catch (error) {
    log.warn(
      { file, error: (error as Error).message },
      "the token of the control plane cannot be kept; configure control.tokens",
    )
    return { token, file: undefined }
  }
}

/** As the control plane takes it. */
export function asTokens(own: ControlToken | undefined): RoleTokenSpec[] {
  return own === undefined ? [] : [{ name: "local", role: "admin", token: own.token }]
}
