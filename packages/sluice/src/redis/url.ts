// The URLs the service takes: redis://, rediss://, redis+sentinel://h1,h2,h3/name, redis+cluster://h1,h2, redis+ring://h1,h2,h3,
// the last three with rediss+ for TLS. The standard URL class knows one host only, hence the taking apart by hand.

import { SluiceError } from "../errors.js"

export interface RedisAddress {
  readonly host: string
  readonly port: number
}

export interface RedisTarget {
  readonly topology: "single" | "sentinel" | "cluster" | "ring"
  readonly tls: boolean
  readonly addresses: readonly RedisAddress[]
  readonly username: string | undefined
  readonly password: string | undefined
  readonly database: number
  /** Sentinel: what the group is called. */
  readonly name: string | undefined
}

const FORM = /^(redis|rediss)(?:\+(sentinel|cluster|ring))?:\/\/(?:([^@/]*)@)?([^/?#]+)(?:\/([^?#]*))?$/

export function parseRedisUrl(url: string): RedisTarget {
  const parts = typeof url === "string" ? FORM.exec(url) : null
  if (parts === null) throw misread(url, "must look like redis://host:6379 or redis+cluster://h1,h2")
  const [, scheme, kind = "single", login, hosts, path = ""] = parts as unknown as string[]
  const topology = kind as RedisTarget["topology"]
  const [username, password] = splitLogin(login, url)
  if (topology === "sentinel" && path === "")
    throw misread(url, "must name the group: redis+sentinel://h1,h2,h3/name")
  const database = topology === "single" && path !== "" ? Number(path) : 0
  if (!Number.isInteger(database) || database < 0) throw misread(url, "must end in the number of a database")
  if (topology === "cluster" && path !== "")
    throw misread(url, "must not name a database: a Cluster has only one")
  return {
    topology,
    tls: scheme === "rediss",
    addresses: (hosts as string)
      .split(",")
      .map((host) => parseAddress(host, topology === "sentinel" ? 26379 : 6379, url)),
    username,
    password,
    database,
    name: topology === "sentinel" ? decodeURIComponent(path) : undefined,
  }
}

/** A URL as it may be shown: without its password. */
export function redactUrl(url: string): string {
  return String(url).replace(/\/\/[^@/]*@/, "//***@")
}

function splitLogin(login: string | undefined, url: string): [string | undefined, string | undefined] {
  if (login === undefined || login === "") return [undefined, undefined]
  const colon = login.indexOf(":")
  try {
    const username = decodeURIComponent(colon < 0 ? login : login.slice(0, colon))
    return [
      username === "" ? undefined : username,
      colon < 0 ? undefined : decodeURIComponent(login.slice(colon + 1)),
    ]
  } catch {
    throw misread(url, "must have its user and password percent-encoded")
  }
}

function parseAddress(text: string, otherwise: number, url: string): RedisAddress {
  const parts = /^(\[[0-9a-fA-F:.]+\]|[^:[\]]+)(?::(\d{1,5}))?$/.exec(text.trim())
  const port = parts?.[2] === undefined ? otherwise : Number(parts[2])
  if (parts === null || port < 1 || port > 65_535)
    throw misread(url, "must have hosts like name, name:6379 or [::1]:6379")
  return { host: (parts[1] as string).replace(/^\[|\]$/g, ""), port }
}

function misread(url: unknown, expected: string): SluiceError {
  return new SluiceError("REDIS_URL_INVALID", {
    place: "url",
    expected,
    found: typeof url === "string" ? redactUrl(url) : url,
  })
}
