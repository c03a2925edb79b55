// Every command there is, by name, and COMMAND, which lists them.

import { clientCommand } from "./client-command.js"
import { type Call, type Command, unknownSubcommand } from "./command.js"
import { handshakeCommands } from "./handshake.js"
import type { ReplyWriter } from "./reply-writer.js"
import { ruleCheck } from "./rule-check.js"
import { serverInfoCommands } from "./server-info.js"

/** Decided before the others are looked at; here to be listed. See throttle.ts. */
const throttle: Command = {
  name: "cl.throttle",
  arity: -5,
  summary: "Limits a key as redis-cell does: key max_burst count period [quantity]",
  keyAt: 1,
  run: () => undefined,
}

const command: Command = {
  name: "command",
  arity: -1,
  summary: "Lists the commands: COUNT, LIST, INFO, DOCS",
  run(call) {
    const { request, reply } = call
    const subcommand = request.count === 1 ? "" : request.text(1).toLowerCase()
    if (subcommand === "" || subcommand === "info") writeInfos(call)
    else if (subcommand === "count") reply.integer(commands.size)
    else if (subcommand === "list") {
      reply.array(commands.size)
      for (const name of commands.keys()) reply.bulk(name)
    } else if (subcommand === "docs") writeDocs(call)
    else reply.error(unknownSubcommand(call))
    return undefined
  },
}

/** All, or those asked for; one that does not exist is told as nothing. */
function writeInfos({ request, reply }: Call): void {
  if (request.count <= 2) {
    reply.array(commands.size)
    for (const known of commands.values()) writeInfo(reply, known)
    return
  }
  reply.array(request.count - 2)
  for (let i = 2; i < request.count; i++) {
    const known = commands.get(request.text(i).toLowerCase())
    if (known === undefined) reply.nothing()
    else writeInfo(reply, known)
  }
}

function writeInfo(reply: ReplyWriter, { name, arity, keyAt = 0 }: Command): void {
  reply.array(6)
  reply.bulk(name)
  reply.integer(arity)
  reply.array(1)
  reply.simple("fast")
  reply.integer(keyAt)
  reply.integer(keyAt)
  reply.integer(keyAt === 0 ? 0 : 1)
}

function writeDocs({ request, reply }: Call): void {
  const asked = Array.from({ length: request.count - 2 }, (_, i) => request.text(i + 2).toLowerCase())
  const known =
    asked.length === 0 ? [...commands.values()] : asked.flatMap((name) => commands.get(name) ?? [])
  reply.map(known.length)
  for (const { name, summary } of known) {
    reply.bulk(name)
    reply.map(2)
    reply.bulk("summary")
    reply.bulk(summary)
    reply.bulk("group")
    reply.bulk(name.includes(".") ? "module" : "connection")
  }
}

export const commands: ReadonlyMap<string, Command> = new Map(
  [throttle, ruleCheck, ...handshakeCommands, clientCommand, command, ...serverInfoCommands].map((known) => [
    known.name,
    known,
  ]),
)
