// Parses the times of logs into milliseconds since 1970. NaN if the text is not a time.

const MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]
const MINUTE = 60_000
const ZERO = 48

/**
 * Parses `17/May/2015:10:05:03 +0000`, the form of Apache and nginx. Neighbouring lines mostly have the same second and day, so
 * the parser remembers both. It does not remember invalid times.
 */
export class ClfTime {
  #text = ""
  #at = Number.NaN
  #day = ""
  #dayAt = Number.NaN
  #zone = ""
  #zoneMs = 0

  /** Parses the time whose 26 characters begin at `at`. */
  read(line: string, start: number): number {
    if (line.startsWith(this.#text, start) && this.#text !== "") return this.#at
    const at = this.#parse(line, start)
    this.#text = Number.isNaN(at) ? "" : line.slice(start, start + 26)
    this.#at = at
    return at
  }

  #parse(line: string, start: number): number {
    if (this.#day === "" || !line.startsWith(this.#day, start)) {
      this.#dayAt = dayOf(line.slice(start, start + 11))
      this.#day = Number.isNaN(this.#dayAt) ? "" : line.slice(start, start + 11)
    }
    if (this.#zone === "" || !line.startsWith(this.#zone, start + 21)) {
      this.#zoneMs = zoneOf(line.slice(start + 21, start + 26))
      this.#zone = Number.isNaN(this.#zoneMs) ? "" : line.slice(start + 21, start + 26)
    }
    const isTime =
      line.charCodeAt(start + 11) === 58 &&
      line.charCodeAt(start + 14) === 58 &&
      line.charCodeAt(start + 17) === 58 &&
      line.charCodeAt(start + 20) === 32
    if (!isTime) return Number.NaN
    const hours = twoDigits(line, start + 12)
    const minutes = twoDigits(line, start + 15)
    const seconds = twoDigits(line, start + 18)
    // 60 is a leap second.
    if (!(hours < 24 && minutes < 60 && seconds <= 60)) return Number.NaN
    return this.#dayAt + ((hours * 60 + minutes) * 60 + seconds) * 1000 - this.#zoneMs
  }
}

function twoDigits(line: string, at: number): number {
  const tens = line.charCodeAt(at) - ZERO
  const ones = line.charCodeAt(at + 1) - ZERO
  return tens >= 0 && tens <= 9 && ones >= 0 && ones <= 9 ? tens * 10 + ones : Number.NaN
}

function dayOf(text: string): number {
  const found = /^(\d{2})\/([A-Z][a-z]{2})\/(\d{4})$/.exec(text)
  if (found === null) return Number.NaN
  const month = MONTHS.indexOf(found[2] as string)
  return month < 0 ? Number.NaN : Date.UTC(Number(found[3]), month, Number(found[1]))
}

function zoneOf(text: string): number {
  const found = /^([+-])(\d{2})(\d{2})$/.exec(text)
  if (found === null) return Number.NaN
  const minutes = Number(found[2]) * 60 + Number(found[3])
  return (found[1] === "-" ? -minutes : minutes) * MINUTE
}

/** Parses `2015-05-17T10:05:03.123Z`, also with a space instead of the T. Without a zone it is UTC. */
export function isoTime(text: string): number {
  const found = /^(\d{4}-\d{2}-\d{2})[T ](\d{2}:\d{2}:\d{2}(?:[.,]\d+)?) ?(Z|UTC|[+-]\d{2}:?\d{2})?$/.exec(
    text,
  )
  if (found === null) return Number.NaN
  const [, day, time, zone = "Z"] = found
  const utc = zone === "UTC" ? "Z" : zone.replace(/^(.\d{2})(\d{2})$/, "$1:$2")
  return Date.parse(`${day}T${(time as string).replace(",", ".")}${utc}`)
}

/** Converts seconds, milliseconds, microseconds or nanoseconds since 1970. The size of the number tells the unit. */
export function epochTime(value: number): number {
  if (!(value > 0)) return Number.NaN
  if (value < 1e11) return value * 1000
  if (value < 1e14) return value
  return value < 1e17 ? value / 1000 : value / 1e6
}

/** Parses a time in any of these forms. */
export function anyTime(value: unknown): number {
  if (typeof value === "number") return epochTime(value)
  if (typeof value !== "string" || value === "") return Number.NaN
  if (/^\d+(\.\d+)?$/.test(value)) return epochTime(Number(value))
  const iso = isoTime(value)
  return Number.isNaN(iso) ? new ClfTime().read(value.replace(/^\[|\]$/g, ""), 0) : iso
}
