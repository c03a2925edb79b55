// Ids of imported rules: the path to the descriptor, as envoyproxy/ratelimit names its statistics,
// `edge.tenant_acme.path`. They are part of storage keys, so the id of a descriptor does not depend on those around it.

import { createHash } from "node:crypto"

const MAX_LENGTH = 64
const HASH = 8

export class RuleIds {
  readonly #taken = new Set<string>()

  /** `parts` are what the id is made of; `suffix` tells rules of one descriptor apart. */
  next(parts: readonly string[], suffix = ""): string {
    const text = parts.join(".") + suffix
    const readable = text.replace(/[^A-Za-z0-9._-]+/g, "-").replace(/^[._-]+/, "")
    // What was cut or replaced might be all that tells two of them apart.
    let id = readable === text && text.length <= MAX_LENGTH ? text : hashed(readable, parts, suffix)
    for (let n = 0; this.#taken.has(id); n++) id = hashed(readable, parts, `${suffix}~${n}`)
    this.#taken.add(id)
    return id
  }
}

function hashed(readable: string, parts: readonly string[], suffix: string): string {
  const digest = createHash("sha256")
    .update(JSON.stringify([...parts, suffix]))
    .digest("hex")
    .slice(0, HASH)
  const start = readable.slice(0, MAX_LENGTH - HASH - 1).replace(/[._-]+$/, "")
  return start === "" ? `envoy-${digest}` : `${start}-${digest}`
}
