// Reads what an upstream's answer says of its cost while the gateway passes it on. Compressed answers are decompressed beside the
// stream: what the client receives is not delayed.

import { constants, createBrotliDecompress, createGunzip, createInflate } from "node:zlib"
import type { ResponseReader, ResponseUsage } from "sluice/rules"
import type { Admission } from "./limiting.js"

/** A reader of a body. `end` waits for a compressed body to be decompressed. */
export interface UsageReader {
  write(bytes: Buffer): void
  end(isComplete: boolean): ResponseUsage | Promise<ResponseUsage>
}

/** Decompressed bytes of one body that are looked at. A few kilobytes may expand to gigabytes. */
const MAX_BYTES = 64 * 1024 * 1024
/** Compressed bytes that may wait for decompression, which other requests may delay. */
const MAX_WAITING = 4 * 1024 * 1024

/** Undefined if no rule charges by the body, and for a body that cannot be read: the estimate stays. */
export function usageReader(
  admission: Pick<Admission, "responseReader">,
  headers: Readonly<Record<string, string>>,
): UsageReader | undefined {
  const reader = admission.responseReader(headers["content-type"])
  const encoding = headers["content-encoding"]?.trim().toLowerCase() ?? "identity"
  if (reader === undefined || encoding === "identity" || encoding === "") return reader
  const decoder = decoderOf(encoding)
  return decoder && new DecodingReader(decoder, reader)
}

type Decoder = ReturnType<typeof createGunzip> | ReturnType<typeof createBrotliDecompress>

function decoderOf(encoding: string): Decoder | undefined {
  // A body that is cut is read as far as it goes.
  const finishFlush = constants.Z_SYNC_FLUSH
  if (encoding === "gzip" || encoding === "x-gzip") return createGunzip({ finishFlush })
  if (encoding === "deflate") return createInflate({ finishFlush })
  return encoding === "br"
    ? createBrotliDecompress({ finishFlush: constants.BROTLI_OPERATION_FLUSH })
    : undefined
}

class DecodingReader implements UsageReader {
  readonly #decoder: Decoder
  readonly #reader: ResponseReader
  readonly #closed: Promise<void>
  #bytes = 0
  #hasFailed = false

  constructor(decoder: Decoder, reader: ResponseReader) {
    this.#decoder = decoder
    this.#reader = reader
    this.#closed = new Promise((resolve) => {
      decoder.once("close", resolve)
    })
    decoder.on("error", () => {
      this.#hasFailed = true
    })
    decoder.on("data", (bytes: Buffer) => {
      this.#bytes += bytes.length
      if (this.#bytes > MAX_BYTES) this.#giveUp()
      else reader.write(bytes)
    })
  }

  write(bytes: Buffer): void {
    if (this.#hasFailed) return
    // The caller may reuse the bytes.
    this.#decoder.write(Buffer.from(bytes))
    if (this.#decoder.writableLength > MAX_WAITING) this.#giveUp()
  }

  async end(isComplete: boolean): Promise<ResponseUsage> {
    if (!this.#hasFailed) this.#decoder.end()
    await this.#closed
    return this.#reader.end(isComplete && !this.#hasFailed)
  }

  #giveUp(): void {
    this.#hasFailed = true
    this.#decoder.destroy()
  }
}
