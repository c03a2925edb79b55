// All commands by name, and COMMAND, which lists them.

import { clientCommand } from "./client-command.js"
import { type Call, type Command, unknownSubcommand } from "./command.js"
import { handshakeCommands } from "./handshake.js"
import type { ReplyWriter } from "./reply-writer.js"
import { ruleCheck } from "./rule-check.js"
import { serverInfoCommands } from "./server-info.js"

/** Listed only: connection.ts runs it directly, before it looks up the others. */
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

/** Writes all commands, or those asked for; an unknown one is a null reply. */
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

/** Ten parts in the order of Redis 7: clients read them by position. */
function writeInfo(reply: ReplyWriter, { name, arity, keyAt = 0 }: Command): void {
  const hasKey = keyAt > 0
  reply.array(10)
  reply.bulk(name)
  reply.integer(arity)
  writeSet(reply, hasKey ? ["write", "fast"] : ["fast"])
  reply.integer(keyAt)
  reply.integer(keyAt)
  reply.integer(hasKey ? 1 : 0)
  writeSet(reply, hasKey ? ["@write", "@fast"] : ["@fast", "@connection"])
  // Tips, key specifications and subcommands.
  reply.set(0)
  reply.set(hasKey ? 1 : 0)
  if (hasKey) writeKeySpec(reply, keyAt)
  reply.set(0)
}

function writeSet(reply: ReplyWriter, items: readonly string[]): void {
  reply.set(items.length)
  for (const item of items) reply.simple(item)
}

/** One key at a fixed position, which is read and written. */
function writeKeySpec(reply: ReplyWriter, keyAt: number): void {
  reply.map(3)
  reply.bulk("flags")
  writeSet(reply, ["RW", "access", "update"])
  reply.bulk("begin_search")
  reply.map(2)
  reply.bulk("type")
  reply.bulk("index")
  reply.bulk("spec")
  reply.map(1)
  reply.bulk("index")
  reply.integer(keyAt)
  reply.bulk("find_keys")
  reply.map(2)
  reply.bulk("type")
  reply.bulk("range")
  reply.bulk("spec")
  reply.map(3)
  for (const [part, value] of [
    ["lastkey", 0],
    ["keystep", 1],
    ["limit", 0],
  ] as const) {
    reply.bulk(part)
    reply.integer(value)
  }
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
