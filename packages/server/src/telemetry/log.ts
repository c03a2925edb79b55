import { isatty } from "node:tty"
import { type DestinationStream, type Logger, pino } from "pino"
import type { Decided } from "../core.js"

export type Log = Logger

export interface LogOptions {
  readonly level: "debug" | "info" | "warn" | "error" | "silent"
  /** Default: standard error. At a terminal the lines are made for people. */
  readonly destination?: DestinationStream
}

/** Makes a log of JSON lines. Text from clients is always inside a JSON string, so it cannot forge a line. */
export function createLog({ level, destination = standardError() }: LogOptions): Log {
  return pino(
    {
      level,
      base: { pid: process.pid },
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
      // Nothing logs these fields. Should code ever do so, their values stay secret.
      redact: [
        "secret",
        "password",
        "token",
        "authorization",
        "headers",
        "*.secret",
        "*.password",
        "*.token",
      ],
    },
    destination,
  )
}

function standardError(): DestinationStream {
  const lines = pino.destination({ dest: 2, sync: true })
  return isatty(2) ? { write: (line) => void lines.write(readableLine(line)) } : lines
}

/** Fields that the line shows elsewhere, or that do not help a person at the terminal. */
const LEADING: readonly string[] = ["level", "time", "pid", "msg"]

/**
 * Formats a log entry for a terminal: `10:15:02 warn  the store did not answer  reason=timeout`. Values are quoted where they
 * could be ambiguous, so text from clients can neither forge a line nor move the cursor.
 */
export function readableLine(line: string): string {
  const fields = JSON.parse(line) as Record<string, unknown>
  const time = new Date(String(fields.time))
  const clock = Number.isNaN(time.getTime()) ? "" : `${time.toTimeString().slice(0, 8)} `
  const details = Object.entries(fields)
    .filter(([name]) => !LEADING.includes(name))
    .map(([name, value]) => `${name}=${shown(value)}`)
  const head = `${clock}${String(fields.level).padEnd(5)} ${text(String(fields.msg ?? ""))}`
  return `${[head, ...details].join("  ").trimEnd()}\n`
}

function shown(value: unknown): string {
  if (typeof value !== "string") return escaped(JSON.stringify(value) ?? "")
  return /^[^\s"=]+$/.test(value) && text(value) === value ? value : escaped(JSON.stringify(value))
}

/** We write the messages, but control characters are removed nevertheless. */
function text(words: string): string {
  return escaped(words.replace(/\s+/g, " "))
}

function escaped(words: string): string {
  return words.replace(
    /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu,
    (character) => `\\u${(character.codePointAt(0) as number).toString(16).padStart(4, "0")}`,
  )
}

/** Longer paths and keys are cut. */
const MAX_LENGTH = 200

/** Logs a few denials per second: enough to see who is denied, and never more than a disk can take. */
export class DenialLog {
  readonly #log: Log
  readonly #perSecond: number
  #left: number
  #skipped = 0

  constructor(log: Log, perSecond: number) {
    this.#log = log
    this.#perSecond = perSecond
    this.#left = perSecond
  }

  /** Begins the next second. */
  tick(): void {
    if (this.#skipped > 0 && this.#perSecond > 0)
      this.#log.info({ skipped: this.#skipped }, "some denials were not logged")
    this.#skipped = 0
    this.#left = this.#perSecond
  }

  denied({ decision, protocol, request }: Decided): void {
    if (this.#left === 0) {
      this.#skipped++
      return
    }
    this.#left--
    const { reason, rule, limitName, degraded, retryAfterMs } = decision
    const key = decision.rules.find((outcome) => outcome.rule === rule)?.key
    this.#log.info(
      {
        protocol,
        reason,
        rule,
        limit: limitName,
        key: short(key),
        method: short(request?.method),
        // Without the query, which may hold an API key.
        path: short(request?.path?.replace(/[?#].*/s, "")),
        // Rounded up, so that waiting that long is enough.
        retryAfterMs: Number.isFinite(retryAfterMs) ? Math.ceil(retryAfterMs) : "never",
        degraded,
      },
      "denied",
    )
  }
}

function short(text: string | undefined): string | undefined {
  return text !== undefined && text.length > MAX_LENGTH ? `${text.slice(0, MAX_LENGTH)}…` : text
}
