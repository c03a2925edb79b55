// Clients as rule sets name them: `ip:10.0.0.0/8`, `user:42`, `apiKey:<keyed hash>`.

import { SluiceError } from "../../errors.js"

type ClientKind = "ip" | "user" | "apiKey"

interface ClientName {
  readonly kind: ClientKind
  readonly value: string
}

const KINDS: readonly string[] = ["ip", "user", "apiKey"] satisfies ClientKind[]
/** A hash as `hashApiKey` returns it: 128 bits in base64url. */
const HASH = /^[A-Za-z0-9_-]{22}$/

/** Reads the name of a client. It does not check the address after `ip:`. */
export function parseClientName(text: string, place: string): ClientName {
  const colon = text.indexOf(":")
  const kind = text.slice(0, colon)
  const value = text.slice(colon + 1)
  if (!KINDS.includes(kind) || value === "") {
    throw new SluiceError("CLIENT_INVALID", {
      place,
      expected: 'must be "ip:…" with an address or CIDR, "user:…" or "apiKey:…"',
      found: text,
    })
  }
  if (kind === "apiKey" && !HASH.test(value)) {
    // The message does not show the value: it may be an API key in clear text.
    throw new SluiceError("CLIENT_INVALID", {
      place,
      expected: "must hold the keyed hash of the API key (22 characters, from hashApiKey), never the key",
    })
  }
  return { kind: kind as ClientKind, value }
}
