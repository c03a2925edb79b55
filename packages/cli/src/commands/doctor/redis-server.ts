// Checks of one Redis server: version, role, eviction policy, clock, latency.

import { type Finding, findings } from "./finding.js"

/** What this file uses of a client that is connected to one server. */
interface Connection {
  /** The socket, for the address of the server: with Sentinel or Cluster the configuration does not contain it. */
  readonly stream?: { readonly remoteAddress?: string | undefined; readonly remotePort?: number | undefined }
  info(): Promise<string>
  time(): Promise<readonly (number | string)[]>
}

/** How long a decision waits for Redis; see docs/redis.md. */
const DEADLINE_MS = 50
const MAX_SKEW_MS = 1_000
const SAMPLES = 5

/** Valkey reports redis_version 7.2, the version that it is compatible with. */
const MIN_MAJOR = 7

export async function serverFindings(client: Connection): Promise<Finding[]> {
  const info = await client.info().catch(() => undefined)
  // Read the address after the first command: a client connects to a node of a Cluster only when it sends one.
  const name = `redis ${client.stream?.remoteAddress ?? ""}:${client.stream?.remotePort ?? ""}`
  return [
    ...(info === undefined ? [infoForbidden(name)] : infoFindings(name, info)),
    ...(await clockFindings(name, client)),
  ]
}

function infoForbidden(name: string): Finding {
  return findings(name).skipped(
    "the Redis user may not run INFO: version, role and eviction policy are unknown",
  )
}

export function infoFindings(name: string, info: string): Finding[] {
  const field = (key: string) => new RegExp(`^${key}:(.*?)\\r?$`, "m").exec(info)?.[1]
  return [versionFinding(name, field), roleFinding(name, field), evictionFinding(name, field)]
}

type Field = (key: string) => string | undefined

function versionFinding(name: string, field: Field): Finding {
  const { fine, problem, skipped } = findings(`${name} version`)
  const version = field("redis_version")
  if (version === undefined) return skipped("unknown")
  const valkey = field("valkey_version")
  const shown = valkey === undefined ? version : `Valkey ${valkey}`
  return Number.parseInt(version, 10) >= MIN_MAJOR
    ? fine(shown)
    : problem(`${shown} is too old`, "Use Redis 7 or newer, or Valkey 8 or newer.")
}

function roleFinding(name: string, field: Field): Finding {
  const { fine, problem } = findings(`${name} role`)
  return field("role") === "slave"
    ? problem(
        "a replica, which accepts no writes",
        "Use the address of its primary, or Sentinel: redis+sentinel://s1,s2,s3/name.",
      )
    : fine("primary")
}

function evictionFinding(name: string, field: Field): Finding {
  const { fine, warning, problem } = findings(`${name} eviction`)
  const policy = field("maxmemory_policy") ?? "noeviction"
  if (policy === "noeviction") return fine("noeviction")
  const fix = "Run CONFIG SET maxmemory-policy noeviction, and set it in redis.conf."
  return field("maxmemory") === "0"
    ? warning(`${policy}: if you set maxmemory, Redis may evict counters`, fix)
    : problem(
        `${policy}: when memory is full, Redis evicts counters, and denied clients are allowed again`,
        fix,
      )
}

async function clockFindings(name: string, client: Connection): Promise<Finding[]> {
  const samples: { readonly tookMs: number; readonly skewMs: number }[] = []
  for (let i = 0; i < SAMPLES; i++) {
    const [from, since] = [Date.now(), performance.now()]
    const time = await client.time().catch(() => undefined)
    const tookMs = performance.now() - since
    if (time === undefined) return [findings(`${name} clock`).skipped("the Redis user may not run TIME")]
    const serverMs = Number(time[0]) * 1_000 + Number(time[1]) / 1_000
    samples.push({ tookMs, skewMs: serverMs - (from + tookMs / 2) })
  }
  // The fastest sample measures both the clock and the latency best.
  const best = samples.reduce((a, b) => (b.tookMs < a.tookMs ? b : a))
  return [clockFinding(name, best.skewMs), latencyFinding(name, best.tookMs)]
}

export function clockFinding(name: string, skewMs: number): Finding {
  const { fine, warning } = findings(`${name} clock`)
  const seconds = (Math.abs(skewMs) / 1_000).toFixed(skewMs > -100 && skewMs < 100 ? 3 : 1)
  const text = `${seconds} s ${skewMs < 0 ? "behind" : "ahead of"} this machine's`
  return Math.abs(skewMs) <= MAX_SKEW_MS
    ? fine(text)
    : warning(
        `${text}: limits use the clock of Redis and are correct, but times in headers and overrides are off`,
        "Synchronize both clocks with NTP.",
      )
}

export function latencyFinding(name: string, tookMs: number): Finding {
  const { fine, warning, problem } = findings(`${name} latency`)
  const text = `${tookMs.toFixed(1)} ms round trip`
  const fix = "Run the service closer to Redis. A decision waits at most 50 ms for it."
  if (tookMs >= DEADLINE_MS) return problem(`${text}: decisions would be made without Redis`, fix)
  return tookMs >= DEADLINE_MS / 2 ? warning(text, fix) : fine(text)
}
