// Ranges of addresses in CIDR notation.

import { SluiceError } from "../../errors.js"
import type { IpAddress } from "./ip-address.js"
import { formatIp, ipv4Of, isMapped, parseIPv6, parseIp } from "./ip-address.js"

/** Names for lists of ranges. */
const NAMED: Readonly<Record<string, readonly string[]>> = {
  loopback: ["127.0.0.0/8", "::1/128"],
  private: ["10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "fc00::/7"],
}

export interface CidrList {
  /** Whether the address is in one of the ranges. False for a text that is no address. */
  contains(ip: string): boolean
}

/**
 * Compiles a list of ranges (`"10.0.0.0/8"`, `"2001:db8::/32"`), single addresses, and the names `"loopback"` and `"private"`.
 * No IPv6 range contains an IPv4 address, not even `::/0`.
 */
export function compileCidrs(list: readonly string[], place: string): CidrList {
  const ranges = list.flatMap((entry, i) => {
    const names = typeof entry === "string" && Object.hasOwn(NAMED, entry) ? NAMED[entry] : undefined
    return (names ?? [entry]).map((cidr) => parseCidr(cidr, `${place}[${i}]`))
  })
  const ipv4 = sortedRanges(ranges.filter((range) => typeof range.address === "number"))
  const ipv6 = sortedRanges(ranges.filter((range) => typeof range.address !== "number"))
  return {
    contains(text) {
      const ip = parseIp(text)
      if (ip === undefined) return false
      const candidates = typeof ip === "number" ? ipv4 : ipv6
      const range = candidates[lastNotAfter(candidates, ip)]
      return range !== undefined && compare(masked(ip, range.prefix), range.address) === 0
    },
  }
}

interface Cidr {
  /** The first address of the range. */
  readonly address: IpAddress
  readonly prefix: number
}

export function parseCidr(text: unknown, place: string): Cidr {
  const refuse = (expected: string): SluiceError =>
    new SluiceError("CIDR_INVALID", { place, expected, found: text })
  const known = 'must be an address, a range like "10.0.0.0/8" or "2001:db8::/32", "loopback" or "private"'
  if (typeof text !== "string") throw refuse(known)
  const slash = text.indexOf("/")
  const addressText = slash < 0 ? text : text.slice(0, slash)
  const ip = addressText.includes("%") ? undefined : parseIp(addressText)
  if (ip === undefined) throw refuse(known)
  const groups = addressText.includes(":") ? parseIPv6(addressText) : undefined
  const bits = groups === undefined ? 32 : 128
  const prefixText = slash < 0 ? String(bits) : text.slice(slash + 1)
  const written = /^(?:0|[1-9]\d{0,2})$/.test(prefixText) ? Number(prefixText) : Infinity
  if (written > bits) throw refuse(`must have a whole number from 0 to ${bits} after the slash`)
  const mapped = groups !== undefined && isMapped(groups)
  // A shorter prefix covers more than the IPv4-mapped addresses, and a reader could take it for all of IPv4.
  if (mapped && written < 96) {
    throw refuse(`must have at least /96, or be written as IPv4: ${formatIp(ipv4Of(groups))}/…`)
  }
  const prefix = mapped ? written - 96 : written
  const first = masked(ip, prefix)
  if (compare(first, ip) !== 0) throw refuse(`must start at the range's first address, ${formatIp(first)}`)
  return { address: ip, prefix }
}

/** Sorts ranges by their first address and drops those inside others. Two CIDR ranges never overlap partially. */
function sortedRanges(ranges: Cidr[]): readonly Cidr[] {
  const kept: Cidr[] = []
  for (const range of ranges.sort((a, b) => compare(a.address, b.address) || a.prefix - b.prefix)) {
    const last = kept.at(-1)
    if (last === undefined || compare(masked(range.address, last.prefix), last.address) !== 0)
      kept.push(range)
  }
  return kept
}

/** Binary search for the last range that starts at or before the address; -1 if there is none. */
function lastNotAfter(ranges: readonly Cidr[], ip: IpAddress): number {
  let low = 0
  let high = ranges.length
  while (low < high) {
    const middle = (low + high) >>> 1
    if (compare((ranges[middle] as Cidr).address, ip) <= 0) low = middle + 1
    else high = middle
  }
  return low - 1
}

/** Compares two addresses of the same version. */
function compare(a: IpAddress, b: IpAddress): number {
  if (typeof a === "number" || typeof b === "number") return (a as number) - (b as number)
  for (let i = 0; i < 8; i++) {
    const difference = (a[i] as number) - (b[i] as number)
    if (difference !== 0) return difference
  }
  return 0
}

/** The address with all bits after the prefix set to zero. */
export function masked(ip: IpAddress, prefix: number): IpAddress {
  if (typeof ip === "number") {
    const size = 2 ** (32 - prefix)
    return ip - (ip % size)
  }
  return ip.map((group, i) => {
    const bits = Math.min(16, Math.max(0, prefix - 16 * i))
    return group & (0xffff << (16 - bits))
  })
}

/** Values by ranges of addresses. A lookup returns the value of the narrowest range that contains the address. */
export class CidrMap<Value> {
  /** By version, then by prefix (the longest first), then by the first address of the range. */
  readonly #ranges = {
    ipv4: new Map<number, Map<string, Value>>(),
    ipv6: new Map<number, Map<string, Value>>(),
  }

  get size(): number {
    return this.#ranges.ipv4.size + this.#ranges.ipv6.size
  }

  /** Adds a range. If the same range was added before, the first value stays. */
  add(cidr: string, value: Value, place: string): void {
    const { address, prefix } = parseCidr(cidr, place)
    const version = typeof address === "number" ? "ipv4" : "ipv6"
    const prefixes = this.#ranges[version]
    const text = formatIp(address)
    const ranges = prefixes.get(prefix)
    if (ranges === undefined) {
      prefixes.set(prefix, new Map([[text, value]]))
      this.#ranges[version] = new Map([...prefixes].sort(([a], [b]) => b - a))
    } else if (!ranges.has(text)) ranges.set(text, value)
  }

  /** If `accepts` rejects the value of a range, the lookup goes on with the next wider range. */
  get(ip: string, accepts?: (value: Value) => boolean): Value | undefined {
    const address = parseIp(ip)
    if (address === undefined) return undefined
    for (const [prefix, ranges] of this.#ranges[typeof address === "number" ? "ipv4" : "ipv6"]) {
      const value = ranges.get(formatIp(masked(address, prefix)))
      if (value !== undefined && (accepts === undefined || accepts(value))) return value
    }
    return undefined
  }
}
