// Redis URLs: redis://, rediss://, redis+sentinel://h1,h2,h3/name, redis+cluster://h1,h2 and redis+ring://h1,h2,h3; the last
// three with rediss+ for TLS. They are parsed by a regular expression because the URL class accepts a single host only.

import { SluiceError } from "../../errors.js"

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
  /** Sentinel: the name of the group. */
  readonly name: string | undefined
}

const FORM = /^(redis|rediss)(?:\+(sentinel|cluster|ring))?:\/\/(?:([^@/?#]*)@)?([^/?#]+)(?:\/([^?#]*))?$/

export function parseRedisUrl(url: string): RedisTarget {
  const parts = typeof url === "string" ? FORM.exec(url) : null
  if (parts === null) throw misread(url, "must look like redis://host:6379 or redis+cluster://h1,h2")
  const [, scheme, kind = "single", login, hosts, path = ""] = parts as unknown as string[]
  const topology = kind as RedisTarget["topology"]
  const [username, password] = splitLogin(login, url)
  const name = topology === "sentinel" ? decode(path, url) : undefined
  if (name === "" || name?.includes("/"))
    throw misread(url, "must name the group: redis+sentinel://h1,h2,h3/name")
  if (name === undefined && !/^\d*$/.test(path)) throw misread(url, "must end in the number of a database")
  if (topology === "cluster" && path !== "")
    throw misread(url, "must not name a database: a Cluster has only one")
  const addresses = (hosts as string)
    .split(",")
    .map((host) => parseAddress(host, topology === "sentinel" ? 26379 : 6379, url))
  if (topology === "single" && addresses.length > 1)
    throw misread(url, "must have one host; several need redis+sentinel, redis+cluster or redis+ring")
  return {
    topology,
    tls: scheme === "rediss",
    addresses,
    username,
    password,
    database: name === undefined ? Number(path) : 0,
    name,
  }
}

/** Removes the password from a URL so that it can be shown, even a password that is not encoded or in the wrong place. */
export function redactUrl(url: string): string {
  // The message does not show the value: it may contain a password.
  if (typeof url !== "string")
    throw new SluiceError("OPTION_TYPE", { place: "redactUrl", expected: "must be a string" })
  return url.replace(/^([a-z+]*:\/\/)?(?:.*[?#].*|.*(?=@))/is, "$1***")
}

function splitLogin(login: string | undefined, url: string): [string | undefined, string | undefined] {
  if (login === undefined || login === "") return [undefined, undefined]
  const colon = login.indexOf(":")
  const username = decode(colon < 0 ? login : login.slice(0, colon), url)
  return [username === "" ? undefined : username, colon < 0 ? undefined : decode(login.slice(colon + 1), url)]
}

function decode(text: string, url: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    throw misread(url, "must have its user, password and name percent-encoded")
  }
}

function parseAddress(text: string, otherwise: number, url: string): RedisAddress {
  const parts = /^(\[[0-9a-fA-F:.]+\]|[^:[\]@\s]+)(?::(\d{1,5}))?$/.exec(text.trim())
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
