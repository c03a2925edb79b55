// The headers of a request, or of its end, as they come out of a block.

import { type HeaderField, KIND } from "./header-field.js"
import type { HeaderSink } from "./hpack-decoder.js"

/** One bit for each kind that must come once, and one for those that must come behind them. */
const ORDINARY = 1 << KIND.ORDINARY
const OF_HTTP2 = (1 << KIND.METHOD) | (1 << KIND.SCHEME) | (1 << KIND.PATH) | (1 << KIND.AUTHORITY)
const REQUIRED = (1 << KIND.METHOD) | (1 << KIND.SCHEME) | (1 << KIND.PATH)

export class RequestHead implements HeaderSink {
  method = ""
  path = ""
  /** What the client says the length of its body is. */
  contentLength: number | undefined = undefined
  readonly #maxBytes: number
  readonly #fields: HeaderField[] = []
  #bytes = 0
  #seen = 0
  #isMalformed = false

  /** Keeps headers of so many bytes, as SETTINGS_MAX_HEADER_LIST_SIZE counts them. */
  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes
  }

  add(field: HeaderField): void {
    this.#bytes += field.size
    if (this.#bytes > this.#maxBytes) return
    const { kind, value } = field
    if (kind === KIND.ORDINARY) {
      this.#seen |= ORDINARY
      this.#fields.push(field)
      return
    }
    const mark = 1 << kind
    const comesTooLate = (mark & OF_HTTP2) !== 0 && (this.#seen & ORDINARY) !== 0
    if (kind === KIND.MALFORMED || comesTooLate || (this.#seen & mark) !== 0) this.#isMalformed = true
    this.#seen |= mark
    if (kind === KIND.METHOD) this.method = value
    else if (kind === KIND.PATH) this.path = value
    else if (kind === KIND.LENGTH) this.contentLength = Number(value)
  }

  /** There was more than is taken. What was beyond it is not here. */
  get isTooLarge(): boolean {
    return this.#bytes > this.#maxBytes
  }

  /** Of a request as RFC 9113, section 8.3.1, has it. CONNECT, which has no path, is not served. */
  get isRequest(): boolean {
    if (this.#isMalformed) return false
    if (this.isTooLarge) return true
    return (this.#seen & REQUIRED) === REQUIRED && this.path !== ""
  }

  /** Of what may come behind a body. */
  get isTrailers(): boolean {
    return !this.#isMalformed && (this.#seen & OF_HTTP2) === 0
  }

  /** The value of a header, if it came; of several, the first. */
  get(name: string): string | undefined {
    for (const field of this.#fields) if (field.name === name) return field.value
    return undefined
  }
}
