// The tables of RFC 7541: the static one, and after it the dynamic one with headers that this connection has sent before.

import { ConnectionError } from "./frame.js"
import { HeaderField } from "./header-field.js"

/** The initial size on both sides. This server never asks clients to change it. */
export const TABLE_BYTES = 4_096

const STATIC: readonly HeaderField[] = `
:authority|
:method|GET
:method|POST
:path|/
:path|/index.html
:scheme|http
:scheme|https
:status|200
:status|204
:status|206
:status|304
:status|400
:status|404
:status|500
accept-charset|
accept-encoding|gzip, deflate
accept-language|
accept-ranges|
accept|
access-control-allow-origin|
age|
allow|
authorization|
cache-control|
content-disposition|
content-encoding|
content-language|
content-length|
content-location|
content-range|
content-type|
cookie|
date|
etag|
expect|
expires|
from|
host|
if-match|
if-modified-since|
if-none-match|
if-range|
if-unmodified-since|
last-modified|
link|
location|
max-forwards|
proxy-authenticate|
proxy-authorization|
range|
referer|
refresh|
retry-after|
server|
set-cookie|
strict-transport-security|
transfer-encoding|
user-agent|
vary|
via|
www-authenticate|`
  .trim()
  .split("\n")
  .map((line) => new HeaderField(...(line.split("|") as [string, string])))

/** As many entries as fit, since each counts for at least 32 bytes. It is a power of two. */
const MAX_ENTRIES = TABLE_BYTES / 32

export class HpackTable {
  /** A ring buffer: the newest entry is at `#newest`, older ones before it. */
  readonly #entries: (HeaderField | undefined)[] = []
  #newest = -1
  #count = 0
  #size = 0
  #maxSize = TABLE_BYTES

  /** For tests. */
  get size(): number {
    return this.#size
  }

  /** The header with this index: first the static table, from 1 on, then the dynamic one, newest first. */
  at(index: number): HeaderField {
    const found =
      index <= STATIC.length
        ? STATIC[index - 1]
        : index - STATIC.length <= this.#count
          ? this.#entries[(this.#newest - (index - STATIC.length - 1)) & (MAX_ENTRIES - 1)]
          : undefined
    if (found === undefined) throw new ConnectionError("COMPRESSION_ERROR", `no header has index ${index}`)
    return found
  }

  add(field: HeaderField): void {
    this.#shrinkTo(this.#maxSize - field.size)
    // A header larger than the table empties it. That is not an error (RFC 7541, section 4.4).
    if (field.size > this.#maxSize) return
    this.#newest = (this.#newest + 1) & (MAX_ENTRIES - 1)
    this.#entries[this.#newest] = field
    this.#count++
    this.#size += field.size
  }

  resize(maxSize: number): void {
    if (maxSize > TABLE_BYTES)
      throw new ConnectionError("COMPRESSION_ERROR", `a table may have ${TABLE_BYTES} bytes, got ${maxSize}`)
    this.#maxSize = maxSize
    this.#shrinkTo(maxSize)
  }

  #shrinkTo(size: number): void {
    while (this.#count > 0 && this.#size > size) {
      const oldest = (this.#newest - this.#count + 1) & (MAX_ENTRIES - 1)
      this.#size -= (this.#entries[oldest] as HeaderField).size
      this.#entries[oldest] = undefined
      this.#count--
    }
  }
}
