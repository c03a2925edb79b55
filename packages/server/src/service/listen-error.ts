import type { Suggestion } from "./free-port.js"

export interface FailedListen {
  /** Where its address comes from: `http`, `grpc`. */
  readonly setting: string
  readonly host: string
  readonly port: number
  /** What the system said: `EADDRINUSE`. */
  readonly code: string | undefined
  readonly reason: string
  /** Ports that are not to be had, this one among them, and free ones to use instead. */
  readonly suggestions: readonly Suggestion[]
}

/** The command that starts the service with these flags, as a person types it. */
export type CommandWith = (flags: ReadonlyMap<string, string>) => string

/** A listener of the service could not listen, in words that tell a person what to do. */
export class ListenError extends Error {
  override readonly name = "ListenError"
  /** Plain data, so that a worker can tell its primary. */
  readonly failed: FailedListen

  constructor(failed: FailedListen, command: CommandWith = npmStart) {
    super(explain(failed, command))
    this.failed = failed
  }
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
