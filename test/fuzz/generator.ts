// Generates the bytes of a connection from a seed: mostly valid requests, attacks, and both with a few bytes changed.

import { randomOf } from "../service/malformed.js"
import { type Attack, attacks } from "./attacks.js"
import { mutate } from "./mutator.js"

export type Random = () => number

export interface Input {
  /** What the report counts it as. */
  readonly kind: string
  /** As they go out, one after the other. */
  readonly pieces: readonly Buffer[]
  readonly never?: string | undefined
}

/** The input with a number depends on the seed only, not on earlier inputs. */
export function inputOf(seed: number, number: number): Input {
  // The first ones are the attacks as they are.
  const attack = attacks[number]
  if (attack !== undefined) return asItIs(attack)
  const random = randomOf(seed * 1_000_003 + number)
  if (random() < 0.1) return asItIs(pick(random, attacks))
  const kind = random()
  if (kind < 0.4)
    return { kind: "generated requests", pieces: cut(random, Buffer.from(requests(random), "latin1")) }
  if (kind < 0.75)
    return {
      kind: "mutated requests",
      pieces: cut(random, mutate(random, Buffer.from(requests(random), "latin1"))),
    }
  const chosen = pick(random, SMALL)
  const before = random() < 0.5 ? requests(random) : ""
  const bytes = Buffer.from(before + chosen.bytes, "latin1")
  return { kind: "mutated attacks", pieces: cut(random, mutate(random, bytes)) }
}

function asItIs({ name, bytes, never }: Attack): Input {
  return { kind: name, pieces: [Buffer.from(bytes, "latin1")], never }
}

const SMALL: readonly Attack[] = attacks.filter(({ bytes }) => bytes.length < 4_096)
const METHODS = [
  "GET",
  "GET",
  "POST",
  "POST",
  "PUT",
  "DELETE",
  "HEAD",
  "OPTIONS",
  "PATCH",
  "TRACE",
  "get",
  "X",
]
const TARGETS = [
  "/",
  "/a",
  "/a?b=c",
  "/v1/check",
  "/v1/check",
  "/v1/peek",
  "/v1/explain",
  "/v1/check/batch",
  "/v1/reset",
  "/livez",
  "/v1/auth",
  "*",
  "http://a/b",
  "/%2e%2e/x",
  "/a//b",
  "/é",
]
const HEADERS = [
  "Connection: close",
  "Connection: keep-alive",
  "Connection: x, keep-alive",
  "TE: trailers",
  "Expect: 100-continue",
  "Transfer-Encoding: gzip",
  "Content-Length: 3",
  "Content-Length: +3",
  "Content-Type: application/json",
  "Host: b",
  "X-Api-Key: a",
  "Cookie: sid=1",
  "X-Forwarded-For: 192.0.2.1",
  "Origin: http://a",
  "Sec-Fetch-Site: same-origin",
  "Upgrade: websocket",
  "Keep-Alive: timeout=5",
  " folded: x",
  "x :y",
  "x:",
  "x: \t y \t",
  "Trailer: x",
  "Proxy-Connection: keep-alive",
]
const BODIES = [
  "",
  "hello",
  '{"path":"/a","user":"1"}',
  '{"checks":[{"path":"/a"},{}]}',
  "{",
  "0\r\n\r\n",
  "\r\n",
]

function requests(random: Random): string {
  return Array.from({ length: 1 + Math.floor(random() * 4) }, () => request(random)).join("")
}

function request(random: Random): string {
  const body = pick(random, BODIES)
  const framing =
    random() < 0.75
      ? [`Content-Length: ${body.length}`]
      : random() < 0.7
        ? ["Transfer-Encoding: chunked"]
        : []
  const sent = framing[0]?.startsWith("T")
    ? `${body === "" ? "" : `${body.length.toString(16)}\r\n${body}\r\n`}0\r\n\r\n`
    : framing.length === 0
      ? ""
      : body
  const odd = Array.from({ length: Math.floor(random() * 3) }, () => pick(random, HEADERS))
  const lines = ["Host: a", ...framing, ...odd]
  if (random() < 0.3) lines.reverse()
  const version = random() < 0.95 ? "HTTP/1.1" : pick(random, ["HTTP/1.0", "HTTP/2.0", "http/1.1", ""])
  return `${pick(random, METHODS)} ${pick(random, TARGETS)} ${version}\r\n${lines.join("\r\n")}\r\n\r\n${sent}`
}

/** Bytes as a network may deliver them: at once, or in up to four pieces. */
function cut(random: Random, bytes: Buffer): Buffer[] {
  if (random() < 0.5) return [bytes]
  const places = Array.from({ length: 1 + Math.floor(random() * 3) }, () =>
    Math.floor(random() * bytes.length),
  )
  const edges = [0, ...places.sort((a, b) => a - b), bytes.length]
  return edges.slice(1).map((edge, i) => bytes.subarray(edges[i], edge))
}

export function pick<T>(random: Random, list: readonly T[]): T {
  return list[Math.floor(random() * list.length)] as T
}
