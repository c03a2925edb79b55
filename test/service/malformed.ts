// Input that no client should send, by seed: nonsense, the almost right, the cut off, the far too much.

/** Numbers from 0 to 1, the same for the same seed (mulberry32). */
export function randomOf(seed: number): () => number {
  let state = seed >>> 0
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}

type Random = () => number
export type Generator = (random: Random) => Buffer

const CRLF = "\r\n"

function below(random: Random, bound: number): number {
  return Math.floor(random() * bound)
}

function pick<T>(random: Random, list: readonly T[]): T {
  return list[below(random, list.length)] as T
}

function bytes(random: Random, length: number): Buffer {
  return Buffer.from(Array.from({ length }, () => below(random, 256)))
}

/** Changes, drops, doubles or inserts a few bytes. */
function mutate(random: Random, input: Buffer): Buffer {
  let output = input
  for (let times = 1 + below(random, 4); times > 0; times--) {
    const at = below(random, output.length + 1)
    const to = at + below(random, 8)
    const between = pick(random, [
      Buffer.alloc(0),
      bytes(random, 1 + below(random, 4)),
      output.subarray(at, to),
    ])
    const rest = random() < 0.5 ? at : to
    output = Buffer.concat([output.subarray(0, at), between, output.subarray(Math.min(rest, output.length))])
  }
  return output
}

function cut(random: Random, input: Buffer): Buffer {
  return input.subarray(0, below(random, input.length))
}

const FIELDS = ["method", "host", "path", "headers", "ip", "user", "apiKey", "tier", "client", "domain"]
const MORE_FIELDS = [
  "descriptors",
  "route",
  "rule",
  "key",
  "cost",
  "at",
  "checks",
  "__proto__",
  "constructor",
  "x",
]
const TEXTS = [
  "",
  "/",
  "GET",
  "/items/7",
  "/v1/a/b",
  "per-user",
  "all",
  "user:42",
  "127.0.0.1",
  "::1",
  "edge",
]
const ODD_TEXTS = [
  "\u0000",
  "\ud800",
  "/../..",
  "/%zz",
  "/%2f%5c",
  "//",
  "\\",
  "a".repeat(5_000),
  "💥",
  "\r\nx: y",
  "::ffff:1.2.3",
]
const NUMBERS = [
  "0",
  "-1",
  "1.5",
  "1e400",
  "-1e400",
  "9007199254740993",
  "1e-400",
  "0.1",
  "NaN",
  "01",
  "1767225600000",
]

/** JSON text, mostly well formed, of values that mostly do not belong there. */
function json(random: Random, depth = 0): string {
  const kind = below(random, depth > 4 ? 5 : 9)
  if (kind === 0) return pick(random, ["null", "true", "false", "undefined", ""])
  if (kind === 1) return pick(random, NUMBERS)
  if (kind <= 3) return JSON.stringify(pick(random, random() < 0.5 ? TEXTS : ODD_TEXTS))
  if (kind === 4) return pick(random, ["{", "]", "[[", '"', "{}", "[]", "\ufeff{}", "/**/{}", "'a'"])
  if (kind === 5)
    return `[${Array.from({ length: below(random, 5) }, () => json(random, depth + 1)).join(",")}]`
  const names = Array.from({ length: below(random, 6) }, () =>
    pick(random, random() < 0.5 ? FIELDS : MORE_FIELDS),
  )
  return `{${names.map((name) => `${JSON.stringify(name)}:${json(random, depth + 1)}`).join(",")}}`
}

function nested(random: Random): string {
  const depth = pick(random, [100, 5_000, 60_000])
  const [open, close] = pick(random, [
    ["[", "]"],
    ['{"headers":', "}"],
    ['{"checks":[', "]}"],
  ])
  return open.repeat(depth) + pick(random, ["1", ""]) + close.repeat(random() < 0.5 ? depth : depth - 1)
}

function body(random: Random): Buffer {
  const kind = below(random, 12)
  if (kind === 0) return bytes(random, below(random, 300))
  if (kind === 1) return Buffer.from(nested(random))
  if (kind === 2)
    return Buffer.from(`{"checks":[${Array.from({ length: 300 }, () => json(random, 2)).join(",")}]}`)
  if (kind === 3)
    return mutate(random, Buffer.from('{"method":"GET","path":"/items/7","user":"42","cost":1}'))
  if (kind === 4)
    return Buffer.from(`{"path":"/${pick(random, ["a/", "%41", "../", "%25", "é"]).repeat(20_000)}"}`)
  return Buffer.from(json(random))
}

const METHODS = [
  "GET",
  "POST",
  "PUT",
  "DELETE",
  "OPTIONS",
  "HEAD",
  "PATCH",
  "CONNECT",
  "TRACE",
  "PRI",
  "get",
  "",
  "G\tT",
]
const VERSIONS = ["HTTP/1.1", "HTTP/1.0", "HTTP/0.9", "HTTP/2.0", "HTTP/9.9", "http/1.1", "HTTP/1.1 ", ""]
const HEADERS = [
  "content-length: 5",
  "content-length: -1",
  "content-length: 99999999999999999999",
  "content-length: 5, 6",
  "content-length : 5",
  "transfer-encoding: chunked",
  "transfer-encoding: gzip",
  "transfer-encoding: chunked, identity",
  "transfer-encoding: xchunked",
  "connection: upgrade",
  "upgrade: websocket",
  "upgrade: h2c",
  "expect: 100-continue",
  "expect: 200-ok",
  "host: a\0b",
  "host:",
  " folded: line",
  "no colon",
  ": no name",
  "x-forwarded-uri: /items/7",
  "x-forwarded-uri: /../../etc/passwd",
  "x-forwarded-for: 1.2.3.4, unknown, ::gg",
  "x-forwarded-host: a b",
  "x-original-uri: /other",
  'forwarded: for="[::1"',
  'if-match: "1',
  "authorization: Bearer \u00ff",
  "accept: text/event-stream",
]

function head(random: Random, paths: readonly string[]): string {
  const path = random() < 0.7 ? pick(random, paths) : pick(random, ODD_TEXTS)
  const query =
    random() < 0.2 ? `?${pick(random, ["status=429", "status=x", "deny=%zz", "a=b&a=c", "%"])}` : ""
  const method = random() < 0.7 ? "POST" : pick(random, METHODS)
  const version = random() < 0.8 ? "HTTP/1.1" : pick(random, VERSIONS)
  const headers = Array.from({ length: below(random, 4) }, () => pick(random, HEADERS))
  if (random() < 0.05) headers.push(...Array.from({ length: 3_000 }, (_, i) => `x-${i}: y`))
  if (random() < 0.05) headers.push(`x-long: ${"z".repeat(below(random, 40_000))}`)
  const end = random() < 0.95 ? CRLF : pick(random, ["\n", "\r", ""])
  return [`${method} ${path}${query} ${version}`, "host: x", ...headers].map((line) => line + end).join("")
}

function httpGenerator(paths: readonly string[]): Generator {
  return (random) => {
    const kind = below(random, 10)
    if (kind === 0) return bytes(random, 1 + below(random, 400))
    const content = body(random)
    if (kind <= 6) {
      // A right head, so that the body is looked at.
      const path = pick(random, paths)
      const right = `POST ${path} HTTP/1.1${CRLF}host: x${CRLF}connection: close${CRLF}content-length: ${content.length}${CRLF}${CRLF}`
      const whole = Buffer.concat([Buffer.from(right), content])
      return kind === 5 ? mutate(random, whole) : kind === 6 ? cut(random, whole) : whole
    }
    const chunks =
      random() < 0.3 ? `${pick(random, ["5", "zz", "-1", "ffffffffffffffff", "5;x"])}${CRLF}hello${CRLF}` : ""
    const whole = Buffer.concat([Buffer.from(head(random, paths) + CRLF + chunks, "latin1"), content])
    return kind === 9 ? Buffer.concat([whole, whole]) : whole
  }
}

function resp(random: Random): Buffer {
  const kind = below(random, 6)
  if (kind === 0) return bytes(random, 1 + below(random, 300))
  const words = [
    "CL.THROTTLE",
    "SLUICE.CHECK",
    "HELLO",
    "AUTH",
    "SELECT",
    "CLIENT",
    "INFO",
    "COMMAND",
    "user",
    "per-user",
  ]
  const numbers = ["0", "-1", "15", "1e9", "99999999999999999999", "", "3", "nan", " 1"]
  const parts = Array.from({ length: below(random, 8) }, () => pick(random, random() < 0.5 ? words : numbers))
  const command = `*${parts.length}${CRLF}${parts.map((part) => `$${part.length}${CRLF}${part}${CRLF}`).join("")}`
  if (kind === 1) return Buffer.from(`${parts.join(" ")}${CRLF}`)
  if (kind === 2) return mutate(random, Buffer.from(command))
  if (kind === 3) return cut(random, Buffer.from(command))
  if (kind === 4) {
    const odd = [
      "*-5",
      "*99999999",
      "*1\r\n$-7",
      "*1\r\n$999999999",
      "*x",
      "$5\r\nhello",
      "*2\r\n*1\r\n$1\r\na",
      "a".repeat(70_000),
    ]
    return Buffer.from(pick(random, odd) + CRLF)
  }
  return Buffer.from(command.repeat(1 + below(random, 50)))
}

const PREFACE = Buffer.from("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")
const SETTINGS = Buffer.from([0, 0, 0, 4, 0, 0, 0, 0, 0])

function frame(random: Random): Buffer {
  const payload = bytes(random, below(random, 80))
  const length = random() < 0.9 ? payload.length : below(random, 2 ** 24)
  const frameHead = Buffer.alloc(9)
  frameHead.writeUIntBE(length, 0, 3)
  frameHead[3] = below(random, 12)
  frameHead[4] = below(random, 256)
  frameHead.writeUInt32BE(random() < 0.5 ? 1 : below(random, 2 ** 32), 5)
  return Buffer.concat([frameHead, payload])
}

function framed(type: number, flags: number, stream: number, payload: Buffer): Buffer {
  const frameHead = Buffer.alloc(9)
  frameHead.writeUIntBE(payload.length, 0, 3)
  frameHead[3] = type
  frameHead[4] = flags
  frameHead.writeUInt32BE(stream, 5)
  return Buffer.concat([frameHead, payload])
}

/** POST, http, the path and the type, by the static table of HPACK. */
function grpcHeaders(stream: number): Buffer {
  const path = "/envoy.service.ratelimit.v3.RateLimitService/ShouldRateLimit"
  const block = `\x83\x86\x44${String.fromCharCode(path.length)}${path}\x5f\x10application/grpc`
  return framed(1, 0x4, stream, Buffer.from(block, "latin1"))
}

/** A call with nothing wrong in it. */
function grpcCall(stream: number): Buffer {
  const message = "\0\0\0\0\x16\n\x04edge\x12\x0e\n\x0c\n\x04user\x12\x0442  "
  return Buffer.concat([grpcHeaders(stream), framed(0, 0x1, stream, Buffer.from(message, "latin1"))])
}

/** Floods that are cheap to send: frames without effect, thousands of headers, repeated frames. */
function http2Flood(random: Random): Buffer {
  const opening = Array.from({ length: 500 }, (_, i) => grpcHeaders(2 * i + 1))
  const block = Buffer.concat([
    Buffer.from("\x83\x86\x84\x40\x01a\x01b", "latin1"),
    Buffer.alloc(16_000, 0xbe),
  ])
  const literals = Buffer.from("\x00\x81\x1f\x81\x1f".repeat(3_000), "latin1")
  const parts = pick(random, [
    [
      ...opening,
      ...Array.from({ length: 5_000 }, (_, i) => framed(4, 0, 0, Buffer.of(0, 4, 0, 0, i & 1, 0))),
    ],
    Array.from({ length: 15_000 }, () => framed(6, 0, 0, Buffer.alloc(8))),
    Array.from({ length: 50 }, (_, i) => framed(1, 0x4, 2 * i + 1, block)),
    Array.from({ length: 50 }, (_, i) => framed(1, 0x4, 2 * i + 1, literals)),
    [grpcHeaders(1), ...Array.from({ length: 15_000 }, () => framed(0, 0, 1, Buffer.of(0)))],
  ])
  return Buffer.concat([PREFACE, SETTINGS, ...parts])
}

function http2(random: Random): Buffer {
  if (random() < 0.02) return http2Flood(random)
  const kind = below(random, 10)
  if (kind === 0) return bytes(random, 1 + below(random, 300))
  if (kind <= 4) {
    // Calls that are almost right, so that headers and messages are looked at.
    const calls = Array.from({ length: 1 + below(random, 4) }, (_, i) => {
      const call = grpcCall(2 * i + 1)
      return random() < 0.5 ? mutate(random, call) : call
    })
    const whole = Buffer.concat([PREFACE, SETTINGS, ...calls])
    return kind === 4 ? cut(random, whole) : whole
  }
  const frames = Array.from({ length: below(random, 6) }, () => frame(random))
  const whole = Buffer.concat([PREFACE, random() < 0.8 ? SETTINGS : Buffer.alloc(0), ...frames])
  return random() < 0.2 ? mutate(random, whole) : whole
}

const DATA_PATHS = [
  "/v1/check",
  "/v1/check/batch",
  "/v1/peek",
  "/v1/refund",
  "/v1/reset",
  "/v1/explain",
  "/v1/auth",
  "/json",
]
const CONTROL_PATHS = [
  "/rules",
  "/rules/validate",
  "/rules/rollback",
  "/rules/all",
  "/rules/a%2fb",
  "/keys/all/%zz",
  "/top",
  "/metrics",
]

export const generators: Readonly<Record<"http" | "control" | "grpc" | "resp", Generator>> = {
  http: httpGenerator(DATA_PATHS),
  control: httpGenerator(CONTROL_PATHS),
  grpc: http2,
  resp,
}
