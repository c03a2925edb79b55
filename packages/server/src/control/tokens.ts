// Bearer tokens. Only their SHA-256 is kept, and a plain SHA-256 is right here: a token is made by a machine, and nobody tries
// 2^128 of them. A slow hash (scrypt) protects what people choose, at tens of milliseconds for every request: anybody could
// stall the service by sending wrong ones.

import { createHash, randomBytes, timingSafeEqual } from "node:crypto"
import { SluiceError } from "sluice"
import type { Role } from "./roles.js"

/** A token as the configuration has it: in clear, or its hash. */
export interface TokenSpec {
  /** Who it belongs to, for the history of the rules and the audit log. */
  readonly name: string
  readonly role: Role
  readonly token?: string | undefined
  /** `sha256:` and 64 hexadecimal digits, or the digits alone, as sha256sum prints them. */
  readonly hash?: string | undefined
}

interface Known {
  readonly name: string
  readonly role: Role
  readonly digest: Buffer
}

/** Shorter ones can be guessed. */
const SHORTEST = 16

/** A new token: 256 random bits. */
export function newToken(): string {
  return `sluice_${randomBytes(32).toString("base64url")}`
}

/** The hash of a token, as the configuration takes it. */
export function hashToken(token: string): string {
  return `sha256:${digestOf(token).toString("hex")}`
}

export class Tokens {
  readonly #known: readonly Known[]

  constructor(specs: readonly TokenSpec[]) {
    this.#known = specs.map(({ name, role, ...spec }, i) => ({
      name,
      role,
      digest: readDigest(spec, `control.tokens[${i}]`),
    }))
  }

  get isEmpty(): boolean {
    return this.#known.length === 0
  }

  /** Whose token it is. Takes as long for any token: every one is compared, to its end. */
  find(token: string): { readonly name: string; readonly role: Role } | undefined {
    const digest = digestOf(token)
    let found: Known | undefined
    for (const known of this.#known) {
      const isSame = timingSafeEqual(known.digest, digest)
      if (isSame) found ??= known
    }
    return found
  }
}

function digestOf(token: string): Buffer {
  return createHash("sha256").update(token).digest()
}

function readDigest({ token, hash }: Pick<TokenSpec, "token" | "hash">, place: string): Buffer {
  if (token !== undefined) {
    if (token.length >= SHORTEST) return digestOf(token)
    // Neither is shown: it is a secret, or meant to be one.
    throw new SluiceError("TOKEN_INVALID", {
      place: `${place}.token`,
      expected: `must have at least ${SHORTEST} characters; openssl rand -hex 32 makes a good one`,
    })
  }
  const digits = /^(?:sha256:)?([0-9a-f]{64})$/i.exec(hash ?? "")?.[1]
  if (digits !== undefined) return Buffer.from(digits, "hex")
  throw new SluiceError("TOKEN_INVALID", {
    place: `${place}.hash`,
    expected: "must be sha256: and the 64 hexadecimal digits of the token's SHA-256",
  })
}
