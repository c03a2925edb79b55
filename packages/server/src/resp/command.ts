// What a command is, and the mistakes they share, in the words of Redis: clients and people look for them.

import type { Core } from "../core.js"
import type { Login } from "./login.js"
import type { ReplyWriter } from "./reply-writer.js"
import type { RequestParser } from "./request-parser.js"
import type { Session } from "./session.js"
import type { Answer } from "./throttle.js"

/** The service as commands see it. */
export interface Host {
  readonly core: Core
  readonly login: Login
  readonly maxConnections: number
  readonly connections: number
  readonly startedAt: number
}

/** One command that is being answered. Its arguments are gone once it waits for something. */
export interface Call {
  readonly host: Host
  readonly session: Session
  readonly request: RequestParser
  readonly reply: ReplyWriter
}

export interface Command {
  /** In small letters. */
  readonly name: string
  /** Arguments with the name; negative for at least so many. */
  readonly arity: number
  readonly summary: string
  /** Which argument is a key, if one is. */
  readonly keyAt?: number
  /** Whether it works without a password. */
  readonly beforeLogin?: true
  /** Writes the reply, or promises one. */
  run(call: Call): Promise<Answer> | undefined
}

export function hasArity({ arity }: Pick<Command, "arity">, count: number): boolean {
  return arity < 0 ? count >= -arity : count === arity
}

export function wrongArity(name: string): string {
  return `ERR wrong number of arguments for '${name}' command`
}

/** The name and the first arguments, so that somebody sees what was sent. */
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
