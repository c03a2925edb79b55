import { masked, parseCidr } from "./cidr.js"
import { formatIp, parseIp } from "./ip-address.js"

/** Values by ranges of addresses. The narrowest range that holds an address counts. */
export class CidrMap<Value> {
  /** Per version, prefix → first address of the range → value; the narrowest prefixes first. */
  readonly #ranges = {
    ipv4: new Map<number, Map<string, Value>>(),
    ipv6: new Map<number, Map<string, Value>>(),
  }

  get size(): number {
    return this.#ranges.ipv4.size + this.#ranges.ipv6.size
  }

  /** Keeps the value that was there before, if there was one: the first counts. */
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

  /** Passes over values that `accepts` turns down: a wider range may hold one that it takes. */
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
