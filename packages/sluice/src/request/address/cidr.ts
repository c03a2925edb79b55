// Ranges of addresses: who is trusted, listed, or counted together.

import { SluiceError } from "../../errors.js"
import { checkType } from "../../options.js"
import type { IpAddress } from "./ip-address.js"
import { formatIp, ipv4Of, ipv4Text, isMapped, parseIPv6, parseIp } from "./ip-address.js"

/** Lists of ranges that have a name. */
const NAMED: Readonly<Record<string, readonly string[]>> = {
  loopback: ["127.0.0.0/8", "::1/128"],
  private: ["10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "fc00::/7"],
}

export interface CidrList {
  /** Whether the address is in one of the ranges. Text that is no address is in none. */
  contains(ip: string): boolean
}

/**
 * `"10.0.0.0/8"`, `"2001:db8::/32"`, a single address, or one of the names `"loopback"` and `"private"`. A range of IPv6
 * never holds an IPv4 address, also not `::/0`: a list that should hold both names both.
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
  // Its shorter prefixes reach beyond IPv4, and read carelessly they would mean all of it.
  if (mapped && written < 96) {
    throw refuse(`must have at least /96, or be written as IPv4: ${formatIp(ipv4Of(groups))}/…`)
  }
  const prefix = mapped ? written - 96 : written
  const first = masked(ip, prefix)
  if (compare(first, ip) !== 0) throw refuse(`must start at the range's first address, ${formatIp(first)}`)
  return { address: ip, prefix }
}

/** By their first address, without those inside others: CIDRs never overlap by halves. */
function sortedRanges(ranges: Cidr[]): readonly Cidr[] {
  const kept: Cidr[] = []
  for (const range of ranges.sort((a, b) => compare(a.address, b.address) || a.prefix - b.prefix)) {
    const last = kept.at(-1)
    if (last === undefined || compare(masked(range.address, last.prefix), last.address) !== 0)
      kept.push(range)
  }
  return kept
}

/** The index of the last range that starts at the address or before, by halving; -1 if all start after it. */
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

/** Both of the same version. */
function compare(a: IpAddress, b: IpAddress): number {
  if (typeof a === "number" || typeof b === "number") return (a as number) - (b as number)
  for (let i = 0; i < 8; i++) {
    const difference = (a[i] as number) - (b[i] as number)
    if (difference !== 0) return difference
  }
  return 0
}

/** The address with everything after the prefix set to zero. */
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

/**
 * Who an address is counted as: an IPv4 address as itself, an IPv6 address as its network, `2001:db8:1:2::/64`, because
 * one customer has at least that many and could take a new one for each request. Undefined for what is no address.
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
