import { type Clock, systemClock } from "sluice"
import type { RuleEngine } from "sluice/rules"
import type { Config } from "../config/schema.js"
import type { Decided } from "../core.js"
import { RECORD_HEADER } from "../replay/log/record.js"
import type { Log } from "../telemetry/log.js"
import { RecordFile } from "./record-file.js"
import { recordedLine } from "./recorded-line.js"

export interface RecordOptions {
  readonly engine: RuleEngine
  readonly log: Log
  readonly clock?: Clock
}

export interface OpenRecord {
  /** Records a decision that has a request. */
  record(event: Decided): void
  /** Writes the remaining lines and closes the file. */
  close(): Promise<void>
}

/** Opens the configured decision log, which `sluice replay` can read. Returns undefined if none is configured. */
export function openRecord(
  { file, maxBytes, files, headers }: Config["record"],
  { engine, log, clock = systemClock }: RecordOptions,
): OpenRecord | undefined {
  if (file === undefined) return undefined
  const output = new RecordFile({
    file,
    maxBytes,
    files,
    header: RECORD_HEADER,
    onError: (error) =>
      log.error({ file, error: (error as Error).message }, "could not write the decision log"),
  })
  const options = { engine, headers: headers.map((name) => name.toLowerCase()) }
  return {
    record(event) {
      const line = recordedLine(event, clock.now(), options)
      if (line !== undefined) output.write(line)
    },
    async close() {
      await output.close()
      if (output.dropped > 0)
        log.warn({ file, dropped: output.dropped }, "some decisions are missing in the decision log")
    },
  }
}
