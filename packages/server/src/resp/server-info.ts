// Information about the service: INFO, CONFIG GET.

import { type Call, type Command, type Host, unknownSubcommand } from "./command.js"

/** The Redis version that clients see; they derive the server's features from it. */
export const VERSION = "7.0.0"

const info: Command = {
  name: "info",
  arity: -1,
  summary: "Describes the service",
  run({ host, reply }) {
    reply.verbatim(infoText(host))
    return undefined
  },
}

function infoText({ connections, maxConnections, startedAt }: Host): string {
  return [
    "# Server",
    `redis_version:${VERSION}`,
    "redis_mode:standalone",
    "server_name:sluice",
    `process_id:${process.pid}`,
    `uptime_in_seconds:${Math.floor((performance.now() - startedAt) / 1000)}`,
    "",
    "# Clients",
    `connected_clients:${connections}`,
    `maxclients:${maxConnections}`,
    "",
    // Clients wait for loading:0 before they send commands.
    "# Persistence",
    "loading:0",
    "",
    "# Replication",
    "role:master",
    "connected_slaves:0",
    "",
  ].join("\r\n")
}

const config: Command = {
  name: "config",
  arity: -2,
  summary: "Returns settings that clients ask for: GET name",
  run(call) {
    const { request, reply } = call
    const subcommand = request.text(1).toLowerCase()
    if (subcommand === "get" && request.count > 2) writeSettings(call)
    else if (subcommand === "get") reply.error("ERR wrong number of arguments for 'config|get' command")
    else reply.error(unknownSubcommand(call))
    return undefined
  },
}

/** Settings that redis-benchmark and clients read. Exact names only; patterns match nothing. */
function writeSettings({ host, request, reply }: Call): void {
  const settings = new Map([
    ["save", ""],
    ["appendonly", "no"],
    ["databases", "16"],
    ["maxclients", String(host.maxConnections)],
  ])
  const found = new Set<string>()
  for (let i = 2; i < request.count; i++) {
    const name = request.text(i).toLowerCase()
    if (settings.has(name)) found.add(name)
  }
  reply.map(found.size)
  for (const name of found) {
    reply.bulk(name)
    reply.bulk(settings.get(name) as string)
  }
}

export const serverInfoCommands: readonly Command[] = [info, config]
