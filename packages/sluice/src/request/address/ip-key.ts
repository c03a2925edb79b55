import { checkType } from "../../options.js"
import { masked } from "./cidr.js"
import { formatIp, ipv4Text, parseIp } from "./ip-address.js"

/**
 * The text that an address is counted by: an IPv4 address itself, or the network of an IPv6 address, `2001:db8:1:2::/64`. A
 * customer usually has a whole network and could use a new address for each request. Undefined if the text is no address.
 */
export function ipKey(ip: string, ipv6Subnet = 64): string | undefined {
  const ipv4 = ipv4Text(ip)
  if (ipv4 !== undefined) return ipv4
  const parsed = parseIp(ip)
  if (parsed === undefined) return undefined
  if (typeof parsed === "number" || ipv6Subnet >= 128) return formatIp(parsed)
  return `${formatIp(masked(parsed, ipv6Subnet))}/${ipv6Subnet}`
}

/** Refuses a subnet for `ipKey` that is no prefix length. */
export function checkIpv6Subnet(value: unknown, place: string): void {
  checkType(
    value,
    place,
    "an integer from 1 to 128",
    (bits) => Number.isInteger(bits) && (bits as number) >= 1 && (bits as number) <= 128,
  )
}

const MAX_CACHED = 4_096
/** The maximum length of a cached address. With a zone, an address may have any length. */
const MAX_CACHED_LENGTH = 45

/**
 * Keys by address, with a cache of the last few thousand: a lookup is faster than parsing the address, and the same string is
 * hashed only once.
 */
export class AddressKeys {
  readonly #ipv6Subnet: number | undefined
  readonly #cached = new Map<string, string>()

  constructor(ipv6Subnet?: number) {
    this.#ipv6Subnet = ipv6Subnet
  }

  /** The key of an address in any spelling: `ip:192.0.2.1`. Undefined if the text is no address. */
  of(ip: string): string | undefined {
    const known = this.#cached.get(ip)
    if (known !== undefined) return known
    const counted = ipKey(ip, this.#ipv6Subnet)
    if (counted === undefined) return undefined
    // `join` creates a flat string. The result of `+` would be flattened when it is first hashed.
    const key = ["ip:", counted].join("")
    if (ip.length <= MAX_CACHED_LENGTH) {
      if (this.#cached.size >= MAX_CACHED) this.#cached.clear()
      this.#cached.set(ip, key)
    }
    return key
  }
}
