import { createHmac, randomBytes } from "node:crypto"
import { SluiceError } from "../../errors.js"
import { getOrCache } from "../../get-or-add.js"
import { checkType, isFilledText } from "../../options.js"

/** Hashes kept in memory: an HMAC takes about 2 µs, as much as the rest of a check. */
const MAX_KEPT = 4_096

/** Turns API keys into keyed hashes, so that no counter, log or metric contains an API key in clear text. */
export class ApiKeyHasher {
  #secret: string | Uint8Array | undefined
  readonly #kept = new Map<string, string>()

  /**
   * Without a secret, a random one is drawn for the first hash: Workers have no random values while a module loads. The hashes are
   * then valid in this process only.
   */
  constructor(secret?: string | Uint8Array) {
    this.#secret = secret
  }

  /** 128 bits in base64url: 22 characters. */
  hash(apiKey: string): string {
    // The message does not show the value: it may contain an API key.
    if (typeof apiKey !== "string")
      throw new SluiceError("OPTION_TYPE", { place: "apiKey", expected: "must be a string" })
    return getOrCache(this.#kept, apiKey, MAX_KEPT, () =>
      createHmac("sha256", this.#secretKey()).update(apiKey).digest().subarray(0, 16).toString("base64url"),
    )
  }

  #secretKey(): string | Uint8Array {
    this.#secret ??= randomBytes(32)
    return this.#secret
  }
}

/** The keyed hash of an API key, as rule sets name it: `apiKey:${hashApiKey(secret, key)}`. */
export function hashApiKey(secret: string | Uint8Array, apiKey: string): string {
  checkType(secret ?? null, "hashApiKey.secret", "text or bytes, not empty", isSecret)
  return new ApiKeyHasher(secret).hash(apiKey)
}

export function isSecret(value: unknown): boolean {
  return isFilledText(value) || (value instanceof Uint8Array && value.length > 0)
}
