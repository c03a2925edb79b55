// Finds the ports that other programs have taken, and free ones to suggest instead. Each suggestion was tried.

import { once } from "node:events"
import { createServer } from "node:net"
import type { Config } from "../../config/schema.js"
import type { PlaneName } from "./planes.js"

/** A port that is taken, and one that was free a moment ago. */
export interface Suggestion {
  readonly name: PlaneName
  readonly port: number
  readonly free: number
}

const PLANES = ["http", "grpc", "resp", "control", "gateway"] as const
/** Ports are tried in order, so that the suggestion stays near the port that people know. */
const MAX_TRIES = 200
const FIRST_UNPRIVILEGED = 1_024
const FIRST_FOR_PRIVILEGED = 8_080

/** Tries every configured port that this process does not listen on yet. */
export async function suggestPorts(config: Config, listening: ReadonlySet<PlaneName>): Promise<Suggestion[]> {
  const enabled = PLANES.filter((name) => config[name].enabled)
  const wanted = new Set(enabled.map((name) => config[name].port))
  const suggestions: Suggestion[] = []
  for (const name of enabled.filter((plane) => !listening.has(plane))) {
    const { host, port } = config[name]
    if (port === 0 || (await isFree(host, port))) continue
    const free = await freePort(host, port, wanted)
    if (free === undefined) continue
    // Two protocols must not get the same suggestion.
    wanted.add(free)
    suggestions.push({ name, port, free })
  }
  return suggestions
}

async function freePort(
  host: string,
  taken: number,
  wanted: ReadonlySet<number>,
): Promise<number | undefined> {
  const first = taken < FIRST_UNPRIVILEGED ? FIRST_FOR_PRIVILEGED : taken + 1
  for (let port = first; port < Math.min(first + MAX_TRIES, 65_536); port++) {
    if (!wanted.has(port) && (await isFree(host, port))) return port
  }
  return undefined
}

async function isFree(host: string, port: number): Promise<boolean> {
  const server = createServer()
  try {
    // Exclusive makes a worker ask the system. The primary may hold the port for another worker.
    server.listen({ host, port, exclusive: true })
    await once(server, "listening")
    return true
  } catch (error) {
    // Another port does not help against other failures, such as an unknown host.
    const { code } = error as NodeJS.ErrnoException
    return code !== "EADDRINUSE" && code !== "EACCES"
  } finally {
    server.close()
  }
}
