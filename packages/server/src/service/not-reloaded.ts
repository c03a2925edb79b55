import { SluiceError } from "sluice"
import type { Log } from "../telemetry/index.js"

/** A mistake in what was to be followed leaves what is in force, and is for somebody to read. */
export function logNotReloaded(log: Log, error: unknown): void {
  const code = error instanceof SluiceError ? error.code : undefined
  const message = error instanceof Error ? error.message : String(error)
  log.error({ code, error: message }, "not reloaded; what is in force goes on")
}
