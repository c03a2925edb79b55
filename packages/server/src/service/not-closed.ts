import { inspect } from "node:util"
import { SluiceError } from "sluice"
import type { Log } from "../telemetry/index.js"

/** Something could not be closed as it should: counters that the disk has no room for, say. The rest is closed all the same. */
export function logNotClosed(log: Log, error: unknown): void {
  if (error instanceof SluiceError)
    log.error({ code: error.code, error: error.message }, "stopped, but not all was kept")
  else log.error({ error: inspect(error) }, "stopped, with a failure")
}
