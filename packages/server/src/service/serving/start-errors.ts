// Why the service could not start, in words that tell a person what to do.

import { SluiceError } from "sluice"
import type { Suggestion } from "./free-port.js"

/** Plain data, so that a worker can send it to the primary. */
export interface FailedListen {
  /** The setting that holds the address: `http`, `grpc`. */
  readonly setting: string
  readonly host: string
  readonly port: number
  /** The system's error code: `EADDRINUSE`. */
  readonly code: string | undefined
  readonly reason: string
  /** Every port that is taken, with a free one to use instead. */
  readonly suggestions: readonly Suggestion[]
}

/** The command that starts the service with these flags, as a person types it. */
export type CommandWith = (flags: ReadonlyMap<string, string>) => string

/** A protocol of the service could not listen on its address. */
export class ListenError extends Error {
  override readonly name = "ListenError"
  readonly failed: FailedListen

  constructor(failed: FailedListen, command: CommandWith = npmStart) {
    super(explain(failed, command))
    this.failed = failed
  }
}

/** A worker could not start because of a mistake that its message explains. */
export class WorkerError extends Error {
  override readonly name = "WorkerError"
}

/** Whether the message of an error says all that a person needs. Print other errors with their stack. */
export function isUserError(error: unknown): error is Error {
  return error instanceof SluiceError || error instanceof ListenError || error instanceof WorkerError
}

const npmStart: CommandWith = (flags) => ["npm start --", ...[...flags].flat()].join(" ")

function explain(failed: FailedListen, command: CommandWith): string {
  const { setting, host, port, code, suggestions } = failed
  const startWith = (flags: [string, string][]) => `:\n\n  ${command(new Map(flags))}\n`
  const flags = suggestions.map(({ name, free }): [string, string] => [`--${name}.port`, String(free)])
  const otherPorts = flags.length === 0 ? "." : startWith(flags)
  switch (code) {
    case "EADDRINUSE": {
      if (suggestions.length < 2)
        return `Port ${port} on ${host} is taken by another program. Stop it, or use another port${otherPorts}`
      const ports = suggestions.map((taken) => taken.port)
      const list = `${ports.slice(0, -1).join(", ")} and ${ports.at(-1)}`
      return `Ports ${list} are taken by other programs. Stop them, or use other ports${otherPorts}`
    }
    case "EACCES":
      return `This user may not listen on port ${port}. Use a port above 1023${otherPorts}`
    case "EADDRNOTAVAIL":
    case "ENOTFOUND":
      return `"${host}" is not an address of this machine. Use one that is${startWith([[`--${setting}.host`, "127.0.0.1"]])}`
    default:
      return `Could not listen on ${host}, port ${port}: ${failed.reason}`
  }
}
