import { createHmac, randomBytes } from "node:crypto"
import { getOrCache } from "../../get-or-add.js"

/** Hashes kept in memory: an HMAC takes about 2 µs, as much as the rest of a check. */
const MAX_KEPT = 4_096

/** Turns API keys into keyed hashes, so that no counter, log or metric contains an API key in clear text. */
export class ApiKeyHasher {
  readonly #secret: string | Uint8Array
  readonly #kept = new Map<string, string>()

  /** The default secret is random: its hashes are valid in this process only. */
  constructor(secret: string | Uint8Array = randomBytes(32)) {
    this.#secret = secret
  }

  /** 128 bits in base64url: 22 characters. */
  hash(apiKey: string): string {
    return getOrCache(this.#kept, apiKey, MAX_KEPT, () =>
      createHmac("sha256", this.#secret).update(apiKey).digest().subarray(0, 16).toString("base64url"),
    )
  }
}

/** The keyed hash of an API key, as rule sets name it: `apiKey:${hashApiKey(secret, key)}`. */
export function hashApiKey(secret: string | Uint8Array, apiKey: string): string {
  return new ApiKeyHasher(secret).hash(apiKey)
}
