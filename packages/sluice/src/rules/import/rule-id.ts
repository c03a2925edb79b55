// Ids of imported rules: the path to the descriptor, as envoyproxy/ratelimit names its statistics, `edge.tenant_acme.path`.
// Ids are part of storage keys, so that the id of a descriptor does not depend on other descriptors.

import { createHash } from "node:crypto"

const MAX_LENGTH = 64
const HASH = 8

export class RuleIds {
  readonly #taken = new Set<string>()

  /** A new id made of `parts`. `suffix` distinguishes the rules of one descriptor. */
  next(parts: readonly string[], suffix = ""): string {
    const text = parts.join(".") + suffix
    const readable = text.replace(/[^A-Za-z0-9._-]+/g, "-").replace(/^[._-]+/, "")
    // A hash replaces what was cut or replaced: two ids may differ only there.
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
