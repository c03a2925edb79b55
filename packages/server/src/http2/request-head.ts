// The headers of a request, or its trailers, as the decoder delivers them.

import { type HeaderField, KIND } from "./header-field.js"
import type { HeaderSink } from "./hpack-decoder.js"

/** One bit for each kind that may occur once, and one for ordinary headers, which must come after the pseudo-headers. */
const ORDINARY = 1 << KIND.ORDINARY
const PSEUDO_HEADERS = (1 << KIND.METHOD) | (1 << KIND.SCHEME) | (1 << KIND.PATH) | (1 << KIND.AUTHORITY)
const REQUIRED = (1 << KIND.METHOD) | (1 << KIND.SCHEME) | (1 << KIND.PATH)

export class RequestHead implements HeaderSink {
  method = ""
  path = ""
  /** The announced length of the body. */
  contentLength: number | undefined = undefined
  readonly #maxBytes: number
  readonly #fields: HeaderField[] = []
  #bytes = 0
  #seen = 0
  #isMalformed = false

  /** `maxBytes` is counted as SETTINGS_MAX_HEADER_LIST_SIZE is. */
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
    const comesTooLate = (mark & PSEUDO_HEADERS) !== 0 && (this.#seen & ORDINARY) !== 0
    if (kind === KIND.MALFORMED || comesTooLate || (this.#seen & mark) !== 0) this.#isMalformed = true
    this.#seen |= mark
    if (kind === KIND.METHOD) this.method = value
    else if (kind === KIND.PATH) this.path = value
    else if (kind === KIND.LENGTH) this.contentLength = Number(value)
  }

  /** Whether there were more headers than `maxBytes` allows. Those beyond it are dropped. */
  get isTooLarge(): boolean {
    return this.#bytes > this.#maxBytes
  }

  /** Whether these are the headers of a request (RFC 9113, section 8.3.1). CONNECT, which has no path, is not supported. */
  get isRequest(): boolean {
    if (this.#isMalformed) return false
    if (this.isTooLarge) return true
    return (this.#seen & REQUIRED) === REQUIRED && this.path !== ""
  }

  /** Whether these may be trailers. */
  get isTrailers(): boolean {
    return !this.#isMalformed && (this.#seen & PSEUDO_HEADERS) === 0
  }

  /** The value of a header, or of the first one if there are several. */
  get(name: string): string | undefined {
    for (const field of this.#fields) if (field.name === name) return field.value
    return undefined
  }
}
