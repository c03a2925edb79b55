// A control plane without configured tokens makes a token of its own. Trusting every local connection would not be safe: a
// proxy on this machine forwards requests of others, and many do not say so by default.

import { mkdirSync, rmSync, writeFileSync } from "node:fs"
import { dirname } from "node:path"
import type { Config } from "../config/schema.js"
import type { RoleTokenSpec } from "../control/api/roles.js"
import { newToken } from "../http/tokens.js"
import type { Log } from "../telemetry/log.js"
import { controlTokenFile, keptControlToken } from "./control-token-file.js"

export interface ControlToken {
  readonly token: string
  /** The file that holds the token. Undefined if only this process knows it. */
  readonly file: string | undefined
}

/** Undefined if tokens are configured, or if the control plane is off or open to everybody. */
export function ownControlToken({ control }: Pick<Config, "control">, log: Log): ControlToken | undefined {
  if (!control.enabled || control.open || control.tokens.length > 0) return undefined
  // The system assigns the port, and nobody could find the file by it.
  if (control.port === 0) return { token: newToken(), file: undefined }
  const kept = keptControlToken(control.port)
  const file = controlTokenFile(control.port)
  if (kept !== undefined) return { token: kept, file }
  const token = newToken()
  try {
    mkdirSync(dirname(file), { recursive: true, mode: 0o700 })
    rmSync(file, { force: true })
    // "wx" refuses a file or link that somebody else has put there.
    writeFileSync(file, `${token}\n`, { mode: 0o600, flag: "wx" })
    return { token, file }
  } catch (error) {
    log.warn(
      { file, error: (error as Error).message },
      "could not save the token of the control plane; set control.tokens instead",
    )
    return { token, file: undefined }
  }
}

/** The token in the form of `control.tokens`. */
export function asTokens(own: ControlToken | undefined): RoleTokenSpec[] {
  return own === undefined ? [] : [{ name: "local", role: "admin", token: own.token }]
}
