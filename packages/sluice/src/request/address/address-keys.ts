import { ipKey } from "./cidr.js"

const MOST_KEPT = 4_096
/** Of what is kept: with a zone an address may be as long as somebody likes. */
const LONGEST = 45

/**
 * The keys of those who are counted by their address. The last few thousand are kept: reading an address takes longer than
 * looking it up, and a key that is made anew has to be hashed anew by everyone who looks it up in turn.
 */
export class AddressKeys {
  readonly #ipv6Subnet: number | undefined
  readonly #kept = new Map<string, string>()

  constructor(ipv6Subnet?: number) {
    this.#ipv6Subnet = ipv6Subnet
  }

  /** `ip:192.0.2.1`, for an address in any of its texts. Undefined for what is none. */
  of(ip: string): string | undefined {
    const known = this.#kept.get(ip)
    if (known !== undefined) return known
    const counted = ipKey(ip, this.#ipv6Subnet)
    if (counted === undefined) return undefined
    // Joined: a text that was added up would be put together again by the first who reads it.
    const key = ["ip:", counted].join("")
    if (ip.length <= LONGEST) {
      if (this.#kept.size >= MOST_KEPT) this.#kept.clear()
      this.#kept.set(ip, key)
    }
    return key
  }
}
