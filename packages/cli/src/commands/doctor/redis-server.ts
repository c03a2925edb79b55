// One Redis server: version, role, eviction, clock, distance.

import { type Finding, findings } from "./finding.js"

/** A connection to one server, as far as it is used here. */
interface Connection {
  /** The socket: with Sentinel or in a Cluster nobody has configured where it leads. */
  readonly stream?: { readonly remoteAddress?: string | undefined; readonly remotePort?: number | undefined }
  info(): Promise<string>
  time(): Promise<readonly (number | string)[]>
}

/** The deadline of a decision; see docs/redis.md. */
const DEADLINE_MS = 50
const LARGEST_SKEW_MS = 1_000
const LOOKS = 5

/** The version that Valkey says it is compatible with is that of Redis 7.2. */
const OLDEST_MAJOR = 7

export async function serverFindings(client: Connection): Promise<Finding[]> {
  const info = await client.info().catch(() => undefined)
  // Only now: to the nodes of a Cluster it connects when it has something to ask.
  const name = `redis ${client.stream?.remoteAddress ?? ""}:${client.stream?.remotePort ?? ""}`
  return [
    ...(info === undefined ? [mayNotLook(name)] : infoFindings(name, info)),
    ...(await clockFindings(name, client)),
  ]
}

function mayNotLook(name: string): Finding {
  return findings(name).skipped(
    "this user may not ask for INFO: version, role and eviction policy are not known",
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
  if (version === undefined) return skipped("not told")
  const valkey = field("valkey_version")
  const shown = valkey === undefined ? version : `Valkey ${valkey}`
  return Number.parseInt(version, 10) >= OLDEST_MAJOR
    ? fine(shown)
    : problem(`${shown} is too old`, "Use Redis 7 or newer, or Valkey 8 or newer.")
}

function roleFinding(name: string, field: Field): Finding {
  const { fine, problem } = findings(`${name} role`)
  return field("role") === "slave"
    ? problem(
        "a replica, which takes no writes",
        "Name its primary, or let Sentinel find it: redis+sentinel://s1,s2,s3/name.",
      )
    : fine("primary")
}

function evictionFinding(name: string, field: Field): Finding {
  const { fine, warning, problem } = findings(`${name} eviction`)
  const policy = field("maxmemory_policy") ?? "noeviction"
  if (policy === "noeviction") return fine("noeviction")
  const fix = "CONFIG SET maxmemory-policy noeviction, and the same in redis.conf."
  return field("maxmemory") === "0"
    ? warning(`${policy}: as soon as maxmemory is set, counters may be dropped`, fix)
    : problem(`${policy}: when its memory is full it drops counters, and who was denied is allowed`, fix)
}

async function clockFindings(name: string, client: Connection): Promise<Finding[]> {
  const looks: { readonly tookMs: number; readonly skewMs: number }[] = []
  for (let i = 0; i < LOOKS; i++) {
    const [from, since] = [Date.now(), performance.now()]
    const time = await client.time().catch(() => undefined)
    const tookMs = performance.now() - since
    if (time === undefined) return [findings(`${name} clock`).skipped("this user may not ask for TIME")]
    const serverMs = Number(time[0]) * 1_000 + Number(time[1]) / 1_000
    looks.push({ tookMs, skewMs: serverMs - (from + tookMs / 2) })
  }
  // The quickest answer tells the time best, and the distance.
  const best = looks.reduce((a, b) => (b.tookMs < a.tookMs ? b : a))
  return [clockFinding(name, best.skewMs), distanceFinding(name, best.tookMs)]
}

export function clockFinding(name: string, skewMs: number): Finding {
  const { fine, warning } = findings(`${name} clock`)
  const seconds = (Math.abs(skewMs) / 1_000).toFixed(skewMs > -100 && skewMs < 100 ? 3 : 1)
  const text = `${seconds} s ${skewMs < 0 ? "behind" : "ahead of"} this machine's`
  return Math.abs(skewMs) <= LARGEST_SKEW_MS
    ? fine(text)
    : warning(
        `${text}: limits hold by the clock of Redis, but times in headers and overrides will look wrong`,
        "Set both clocks by NTP.",
      )
}

export function distanceFinding(name: string, tookMs: number): Finding {
  const { fine, warning, problem } = findings(`${name} distance`)
  const text = `${tookMs.toFixed(1)} ms there and back`
  const fix = "Run the service nearer to its Redis; the deadline of a decision is 50 ms."
  if (tookMs >= DEADLINE_MS) return problem(`${text}: decisions would be made without it`, fix)
  return tookMs >= DEADLINE_MS / 2 ? warning(text, fix) : fine(text)
}
