import { SluiceError } from "sluice"
import { isLoopback } from "../http/loopback.js"
import type { RoleTokenSpec } from "./roles.js"

/** Refuses to let everybody edit the rules: without tokens, only this machine may connect. */
export function assertSafeToListen(host: string, tokens: readonly RoleTokenSpec[]): void {
  if (tokens.length > 0 || isLoopback(host)) return
  throw new SluiceError("LISTEN_UNSAFE", {
    place: "control.host",
    expected: "must be a loopback address as long as there are no control.tokens",
    found: host,
  })
}
