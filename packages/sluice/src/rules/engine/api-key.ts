import { createHmac, randomBytes } from "node:crypto"

/** Hashes kept at hand: an HMAC takes about 2 µs, as much as everything else of a check. */
const MOST_KEPT = 4_096

/** Turns API keys into keyed hashes, so that no counter, log or metric ever holds one in clear. */
export class ApiKeyHasher {
  readonly #secret: string | Uint8Array
  readonly #kept = new Map<string, string>()

  /** Without a secret one is made up, good for this process alone. */
  constructor(secret: string | Uint8Array = randomBytes(32)) {
    this.#secret = secret
  }

  /** 128 bits in base64url: 22 characters. */
  hash(apiKey: string): string {
    let hash = this.#kept.get(apiKey)
    if (hash === undefined) {
      hash = createHmac("sha256", this.#secret).update(apiKey).digest().subarray(0, 16).toString("base64url")
      // Most keys come again soon; a flood of made-up ones only costs what hashing them costs.
      if (this.#kept.size >= MOST_KEPT) this.#kept.clear()
      this.#kept.set(apiKey, hash)
    }
    return hash
  }
}

/** The keyed hash of an API key, as rule sets name it: `apiKey:${hashApiKey(secret, key)}`. */
export function hashApiKey(secret: string | Uint8Array, apiKey: string): string {
  return new ApiKeyHasher(secret).hash(apiKey)
}
