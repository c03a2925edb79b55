import { type Clock, systemClock } from "sluice"
import type { RuleEngine } from "sluice/rules"
import type { Config } from "../config/schema.js"
import type { Decided, Watch } from "../core.js"
import { RECORD_HEADER } from "../replay/log/record.js"
import type { Log } from "../telemetry/index.js"
import { RecordFile } from "./record-file.js"
import { recordedLine } from "./recorded-line.js"

export interface RecordOptions {
  readonly engine: RuleEngine
  readonly log: Log
  readonly clock?: Clock
}

export interface OpenRecord {
  /** Records decisions and passes them on to the next observer. */
  readonly watch: Watch
  /** Writes the remaining lines and closes the file. */
  close(): Promise<void>
}

/** Opens the configured decision log, which `sluice replay` can read. Without a file it records nothing. */
export function openRecord(
  watch: Watch,
  { file, maxBytes, files, headers }: Config["record"],
  { engine, log, clock = systemClock }: RecordOptions,
): OpenRecord {
  if (file === undefined) return { watch, close: async () => {} }
  const record = new RecordFile({
    file,
    maxBytes,
    files,
    header: RECORD_HEADER,
    onError: (error) =>
      log.error({ file, error: (error as Error).message }, "could not write the decision log"),
  })
  const options = { engine, headers: headers.map((name) => name.toLowerCase()) }
  return {
    watch: {
      decided(event: Decided) {
        const line = recordedLine(event, clock.now(), options)
        if (line !== undefined) record.write(line)
        watch.decided(event)
      },
      counted: (event) => watch.counted?.(event),
    },
    async close() {
      await record.close()
      if (record.dropped > 0)
        log.warn({ file, dropped: record.dropped }, "some decisions are missing in the decision log")
    },
  }
}
