// Bearer tokens. Only their SHA-256 is kept, and a plain SHA-256 is right here: a token is made by a machine, and nobody tries
// 2^128 of them. A slow hash (scrypt) protects what people choose, at tens of milliseconds for every request: anybody could
// stall the service by sending wrong ones.

import { createHash, randomBytes, timingSafeEqual } from "node:crypto"
import { SluiceError } from "sluice"

/** A token as the configuration has it: in clear, or its hash. */
export interface TokenSpec {
  /** The owner, for the rule history and the audit log. */
  readonly name: string
  readonly token?: string | undefined
  /** `sha256:` and 64 hexadecimal digits, or the digits alone, as sha256sum prints them. */
  readonly hash?: string | undefined
}

interface Known<Spec> {
  readonly spec: Spec
  readonly digest: Buffer
}

/** Shorter ones can be guessed. */
const MIN_LENGTH = 16

/** A new token: 256 random bits. */
export function newToken(): string {
  return `sluice_${randomBytes(32).toString("base64url")}`
}

/** The hash of a token, as the configuration takes it. */
export function hashToken(token: string): string {
  return `sha256:${digestOf(token).toString("hex")}`
}

export class Tokens<Spec extends TokenSpec> {
  readonly #known: readonly Known<Spec>[]

  /** `place` is the setting that holds them, for errors: `control.tokens`. */
  constructor(specs: readonly Spec[], place: string) {
    this.#known = specs.map((spec, i) => ({ spec, digest: readDigest(spec, `${place}[${i}]`) }))
  }

  get isEmpty(): boolean {
    return this.#known.length === 0
  }

  /** The owner of a token. Takes constant time: it compares with every token, to the end. */
  find(token: string): Spec | undefined {
    const digest = digestOf(token)
    let found: Spec | undefined
    for (const known of this.#known) {
      const isSame = timingSafeEqual(known.digest, digest)
      if (isSame) found ??= known.spec
    }
    return found
  }
}

/** The token in an `authorization` header, or undefined when it has none. */
export function bearerToken(authorization: string): string | undefined {
  return /^bearer +([\x21-\x7e]+) *$/i.exec(authorization)?.[1]
}

function digestOf(token: string): Buffer {
  return createHash("sha256").update(token).digest()
}

function readDigest({ token, hash }: Pick<TokenSpec, "token" | "hash">, place: string): Buffer {
  if (token !== undefined) {
    if (token.length >= MIN_LENGTH) return digestOf(token)
    // The error shows neither: each is a secret, or meant to be one.
    throw new SluiceError("TOKEN_INVALID", {
      place: `${place}.token`,
      expected: `must have at least ${MIN_LENGTH} characters; openssl rand -hex 32 makes a good one`,
    })
  }
  const digits = /^(?:sha256:)?([0-9a-f]{64})$/i.exec(hash ?? "")?.[1]
  if (digits !== undefined) return Buffer.from(digits, "hex")
  throw new SluiceError("TOKEN_INVALID", {
    place: `${place}.hash`,
    expected: "must be sha256: and the 64 hexadecimal digits of the token's SHA-256",
  })
}
