// What a command is, and the errors that commands share. Errors have the wording of Redis, which clients and people search for.

import type { Core } from "../core.js"
import type { Login } from "./login.js"
import type { ReplyWriter } from "./reply-writer.js"
import type { RequestParser } from "./request-parser.js"
import type { Answer } from "./throttle.js"

/** What commands see of the service. */
export interface Host {
  readonly core: Core
  readonly login: Login
  readonly maxConnections: number
  readonly connections: number
  readonly startedAt: number
}

/** The state of one client between commands. */
export interface Session {
  readonly id: number
  /** The client's IP address. */
  readonly address: string
  name: string
  protocol: 2 | 3
  database: number
  isLoggedIn: boolean
  /** The client has quit or broken the protocol: nothing more is read from it. */
  isEnding: boolean
}

/** One command in progress. Its arguments are valid only until the command returns. */
export interface Call {
  readonly host: Host
  readonly session: Session
  readonly request: RequestParser
  readonly reply: ReplyWriter
}

export interface Command {
  /** In lower case. */
  readonly name: string
  /** The number of arguments including the name; negative for a minimum. */
  readonly arity: number
  readonly summary: string
  /** The index of the key argument, if there is one. */
  readonly keyAt?: number
  /** Whether it is allowed before the login. */
  readonly beforeLogin?: true
  /** Writes the reply, or returns a promise of one. */
  run(call: Call): Promise<Answer> | undefined
}

export function hasArity({ arity }: Pick<Command, "arity">, count: number): boolean {
  return arity < 0 ? count >= -arity : count === arity
}

export function wrongArity(name: string): string {
  return `ERR wrong number of arguments for '${name}' command`
}

/** Quotes the name and the first arguments, to show what was sent. */
export function unknownCommand(request: RequestParser): string {
  let args = ""
  for (let i = 1; i < request.count && args.length < 128; i++)
    args += `'${request.text(i).slice(0, 128 - args.length)}' `
  return `ERR unknown command '${request.text(0).slice(0, 128)}', with args beginning with: ${args}`
}

export function unknownSubcommand(call: Call): string {
  const name = call.request.text(0).toUpperCase()
  return `ERR unknown subcommand '${call.request.text(1).slice(0, 128)}'. Try ${name} HELP.`
}
