// Clients as rule sets name them: `ip:10.0.0.0/8`, `user:42`, `apiKey:<keyed hash>`.

import { SluiceError } from "../../errors.js"
import { CidrMap } from "../../request/address/cidr-map.js"
import type { Steps } from "../language/steps.js"

/** Who asks, as far as it is known. */
export interface Client {
  /** The address, canonical, not yet cut to its subnet. */
  readonly ip: string | undefined
  readonly user: string | undefined
  /** The keyed hash of the API key: the key itself goes no further than where it was read. */
  readonly apiKey: string | undefined
}

export type ClientKind = keyof Client

export interface ClientName {
  readonly kind: ClientKind
  readonly value: string
}

const KINDS: readonly string[] = ["ip", "user", "apiKey"] satisfies ClientKind[]
/** What `hashApiKey` gives: 128 bits in base64url. */
const HASH = /^[A-Za-z0-9_-]{22}$/

/** Reads the name of a client. The address behind `ip:` is not looked at here. */
export function parseClientName(text: string, place: string): ClientName {
  const colon = text.indexOf(":")
  const kind = text.slice(0, colon)
  const value = text.slice(colon + 1)
  if (!KINDS.includes(kind) || value === "") {
    throw new SluiceError("CLIENT_INVALID", {
      place,
      expected: 'must be "ip:…" with an address or CIDR, "user:…" or "apiKey:…"',
      found: text,
    })
  }
  if (kind === "apiKey" && !HASH.test(value)) {
    // Not shown: it may be a key somebody has written in clear.
    throw new SluiceError("CLIENT_INVALID", {
      place,
      expected: "must hold the keyed hash of the API key (22 characters, from hashApiKey), never the key",
    })
  }
  return { kind: kind as ClientKind, value }
}

/** Values by client. A user comes before an API key, and both before an address. */
export class ClientMap<Value> {
  readonly #users = new Map<string, Value>()
  readonly #apiKeys = new Map<string, Value>()
  readonly #ips = new CidrMap<Value>()
  #size = 0

  get size(): number {
    return this.#size
  }

  get namesApiKeys(): boolean {
    return this.#apiKeys.size > 0
  }

  /** The first value given for a client counts. */
  add(name: string, value: Value, place: string): void {
    const client = parseClientName(name, place)
    this.#size++
    if (client.kind === "ip") this.#ips.add(client.value, value, place)
    else {
      const values = client.kind === "user" ? this.#users : this.#apiKeys
      if (!values.has(client.value)) values.set(client.value, value)
    }
  }

  /**
   * Asks the client only for what the map knows: reading an API key costs a hash. Passes over values that `accepts` turns
   * down: one that is no longer valid does not hide another that the same client goes by.
   */
  get(client: Client, accepts?: (value: Value) => boolean): Value | undefined {
    if (this.#size === 0) return undefined
    return (
      named(this.#users, client, "user", accepts) ??
      named(this.#apiKeys, client, "apiKey", accepts) ??
      this.#ofAddress(client, accepts)
    )
  }

  #ofAddress(client: Client, accepts: ((value: Value) => boolean) | undefined): Value | undefined {
    if (this.#ips.size === 0) return undefined
    const { ip } = client
    return ip === undefined ? undefined : this.#ips.get(ip, accepts)
  }
}

function named<Value>(
  values: ReadonlyMap<string, Value>,
  client: Client,
  kind: "user" | "apiKey",
  accepts: ((value: Value) => boolean) | undefined,
): Value | undefined {
  if (values.size === 0) return undefined
  const name = client[kind]
  const value = name === undefined ? undefined : values.get(name)
  return value === undefined || (accepts !== undefined && !accepts(value)) ? undefined : value
}

/** A list of clients, as a map to their names. */
export function* clientList(names: readonly string[] | undefined, place: string): Steps<ClientMap<string>> {
  const list = new ClientMap<string>()
  for (const [i, name] of names?.entries() ?? []) {
    list.add(name, name, `${place}[${i}]`)
    yield
  }
  return list
}

/** `ip:…`, `user:…` and `apiKey:…` say what they are; anything else is a name that no rule knows more about. */
export function identified(client: string): { client?: string; ip?: string; user?: string; apiKey?: string } {
  if (client.startsWith("ip:")) return { client, ip: client.slice(3) }
  if (client.startsWith("user:")) return { client, user: client.slice(5) }
  // In clear as it came: the hash takes its place everywhere, also as the name.
  if (client.startsWith("apiKey:")) return { apiKey: client.slice(7) }
  return { client }
}

/** Who a key is about, when it is written as keys of one client are. */
export function clientOf(key: string): Client {
  const known = /^(ip|user|apiKey):(.+)$/s.exec(key)
  const named = (kind: string) => (known?.[1] === kind ? known[2] : undefined)
  // The subnet an IPv6 address was cut to is not part of the address.
  return { ip: named("ip")?.replace(/\/.*/, ""), user: named("user"), apiKey: named("apiKey") }
}
