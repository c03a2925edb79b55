// Parses and formats IP addresses. Parsing is strict, so that no two programs read different addresses from one text: no octal
// numbers, no short forms, no spaces.

/** IPv4 as one number, IPv6 as its eight groups. An IPv4-mapped IPv6 address is the IPv4 address it stands for. */
export type IpAddress = number | readonly number[]

const COLON = 0x3a
const DOT = 0x2e
/** `ffff:ffff:ffff:ffff:ffff:ffff:255.255.255.255` */
const MAX_LENGTH = 45
const MAPPED = "::ffff:"

/** Parses an address. Returns undefined for any other text. A zone (`fe80::1%eth0`) is not part of the address and is ignored. */
export function parseIp(text: string): IpAddress | undefined {
  const ipv4 = parseIPv4(text, ipv4Start(text))
  if (ipv4 >= 0) return ipv4
  const groups = parseIPv6(text)
  return groups !== undefined && isMapped(groups) ? ipv4Of(groups) : groups
}

/** Formats an address as RFC 5952 requires. */
export function formatIp(ip: IpAddress): string {
  return typeof ip === "number" ? formatIPv4(ip) : formatIPv6(ip)
}

/** The canonical text of an address, or undefined if the text is no address. */
export function canonicalIp(text: string): string | undefined {
  const ipv4 = ipv4Text(text)
  if (ipv4 !== undefined) return ipv4
  const ip = parseIp(text)
  return ip === undefined ? undefined : formatIp(ip)
}

/** The canonical text of an IPv4 address, or of an IPv4 address that a server on `::` sees as `::ffff:192.0.2.1`. */
export function ipv4Text(text: string): string | undefined {
  const start = ipv4Start(text)
  if (parseIPv4(text, start) < 0) return undefined
  return start === 0 ? text : text.slice(start)
}

function ipv4Start(text: string): number {
  return text.startsWith(MAPPED) ? MAPPED.length : 0
}

/** Parses four numbers without leading zeros, from `start` to the end of the text. Returns -1 for anything else. */
function parseIPv4(text: string, start: number): number {
  const { length } = text
  if (length - start > 15) return -1
  let address = 0
  let octet = -1
  let octets = 0
  for (let i = start; i < length; i++) {
    const code = text.charCodeAt(i)
    if (code === DOT) {
      if (octet < 0) return -1
      address = address * 256 + octet
      octets++
      octet = -1
    } else {
      const digit = code - 0x30
      if (digit < 0 || digit > 9 || octet === 0) return -1
      octet = octet < 0 ? digit : octet * 10 + digit
      if (octet > 255) return -1
    }
  }
  return octets === 3 && octet >= 0 ? address * 256 + octet : -1
}

/** Parses the eight groups of an IPv6 address. An IPv4-mapped address is not converted. */
export function parseIPv6(text: string): number[] | undefined {
  const zone = text.indexOf("%")
  if (zone === text.length - 1) return undefined
  if (zone >= 0) text = text.slice(0, zone)
  const { length } = text
  if (length > MAX_LENGTH) return undefined
  const groups: number[] = []
  let gap = -1
  let i = 0
  if (text.charCodeAt(0) === COLON) {
    if (text.charCodeAt(1) !== COLON) return undefined
    gap = 0
    i = 2
  }
  while (i < length) {
    const start = i
    let group = 0
    let digit = hexDigit(text.charCodeAt(i))
    while (digit >= 0 && i - start < 4) {
      group = group * 16 + digit
      digit = hexDigit(text.charCodeAt(++i))
    }
    if (text.charCodeAt(i) === DOT) {
      const ipv4 = parseIPv4(text, start)
      if (ipv4 < 0) return undefined
      groups.push(Math.floor(ipv4 / 65_536), ipv4 % 65_536)
      break
    }
    if (i === start || groups.length === 8) return undefined
    groups.push(group)
    if (i === length) break
    if (text.charCodeAt(i) !== COLON || ++i === length) return undefined
    if (text.charCodeAt(i) === COLON) {
      if (gap >= 0) return undefined
      gap = groups.length
      i++
    }
  }
  if (gap < 0) return groups.length === 8 ? groups : undefined
  if (groups.length > 7) return undefined
  const shift = 8 - groups.length
  for (let i = 7; i >= gap; i--) groups[i] = i - shift >= gap ? (groups[i - shift] as number) : 0
  return groups
}

/** Whether the address is in ::ffff:0:0/96, the range of IPv4-mapped addresses. */
export function isMapped(groups: readonly number[]): boolean {
  for (let i = 0; i < 5; i++) if (groups[i] !== 0) return false
  return groups[5] === 0xffff
}

/** The last 32 bits. */
export function ipv4Of(groups: readonly number[]): number {
  return (groups[6] as number) * 65_536 + (groups[7] as number)
}

function formatIPv4(address: number): string {
  return `${address >>> 24}.${(address >>> 16) & 255}.${(address >>> 8) & 255}.${address & 255}`
}

/** The longest run of at least two zero groups, the first of equals, becomes `::`. */
function formatIPv6(groups: readonly number[]): string {
  let gap = -1
  let gapLength = 1
  for (let i = 0; i < 8; i++) {
    let end = i
    while (end < 8 && groups[end] === 0) end++
    if (end - i > gapLength) {
      gap = i
      gapLength = end - i
    }
    if (end > i) i = end
  }
  let text = ""
  for (let i = 0; i < 8; i++) {
    if (i === gap) {
      text += "::"
      i += gapLength - 1
    } else {
      text += text === "" || text.endsWith(":") ? "" : ":"
      text += (groups[i] as number).toString(16)
    }
  }
  return text
}

/** The value of a hexadecimal digit by its character code, or -1. */
export function hexDigit(code: number): number {
  if (code >= 0x30 && code <= 0x39) return code - 0x30
  const letter = code | 0x20
  return letter >= 0x61 && letter <= 0x66 ? letter - 0x57 : -1
}
