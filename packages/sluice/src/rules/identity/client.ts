// Who a request is from, and lists and maps of clients.

import { CidrMap } from "../../request/address/cidr.js"
import { canonicalIp } from "../../request/address/ip-address.js"
import { parseClientName } from "../language/client-name.js"
import type { Steps } from "../language/steps.js"

/** A client, as far as it is known. */
export interface Client {
  /** The canonical address, not yet cut to its subnet. */
  readonly ip: string | undefined
  readonly user: string | undefined
  /** The keyed hash of the API key. The key in clear text is never kept. */
  readonly apiKey: string | undefined
}

/** Values by client. For a client that is listed in several ways, its user comes first, then its API key, then its address. */
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

  /** Adds a value. A client that has one already keeps it. */
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
   * The value of a client. A value that `accepts` turns down is skipped, so that an expired one for the user does not hide a
   * valid one for the address. Reads only those parts of the client that the map lists: an API key costs a hash.
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

/** A list of clients, as a map from each to its name. */
export function* clientList(names: readonly string[] | undefined, place: string): Steps<ClientMap<string>> {
  const list = new ClientMap<string>()
  for (const [i, name] of names?.entries() ?? []) {
    list.add(name, name, `${place}[${i}]`)
    yield
  }
  return list
}

/**
 * The parts of a request that a client's name gives. Every spelling of a client gives the same parts: a bare address is an
 * `ip:…`, and any other name without `ip:`, `user:` or `apiKey:` is a `user:…`.
 */
export function identified(name: string): { client?: string; ip?: string; user?: string; apiKey?: string } {
  const client = name.startsWith("client:") ? name.slice("client:".length) : name
  // No `client` here: it would show the API key in clear text.
  if (client.startsWith("apiKey:")) return { apiKey: client.slice("apiKey:".length) }
  const ip = client.startsWith("ip:") ? client.slice("ip:".length) : canonicalIp(client)
  if (ip !== undefined) return { client: `ip:${ip}`, ip }
  const user = client.startsWith("user:") ? client.slice("user:".length) : client
  return { client: `user:${user}`, user }
}

/** The client that a counter key such as `user:42` belongs to; empty when the key has another form. */
export function clientOf(key: string): Client {
  const known = /^(ip|user|apiKey):(.+)$/s.exec(key)
  const named = (kind: string) => (known?.[1] === kind ? known[2] : undefined)
  // An IPv6 address in a key ends with the prefix length of its subnet.
  return { ip: named("ip")?.replace(/\/.*/, ""), user: named("user"), apiKey: named("apiKey") }
}
