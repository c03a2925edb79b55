// Attacks that have worked once, as bytes on one connection. They are sent as they are, and mutated.

export interface Attack {
  readonly name: string
  readonly bytes: string
  /** What must never reach an upstream when the attack is sent as it is. */
  readonly never?: string
}

const ADMIN = "POST /admin HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n"
const check = (headers: string, body = '{"path":"/a","user":"1"}') =>
  `POST /v1/check HTTP/1.1\r\nHost: a\r\n${headers}Content-Length: ${body.length}\r\n\r\n${body}`
const get = (target: string, headers = "") => `GET ${target} HTTP/1.1\r\nHost: a\r\n${headers}\r\n`

export const attacks: readonly Attack[] = [
  { name: "1,500 requests ahead with TE: x", bytes: get("/p", "TE: x\r\n").repeat(1_500) },
  { name: "an API key twice", bytes: get("/k", "X-Api-Key: a\r\nX-Api-Key: b\r\n") },
  { name: "an API key twice in the query", bytes: get("/k?API_KEY=a&api_key=b") },
  { name: "a cookie twice", bytes: get("/k", "Cookie: sid=a\r\nCookie: sid=b\r\n") },
  {
    name: "behind two hosts",
    bytes: `GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n${ADMIN}`,
    never: "POST /admin",
  },
  {
    name: "behind an encoding in HTTP/1.0",
    bytes: `POST / HTTP/1.0\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n${ADMIN}`,
    never: "POST /admin",
  },
  {
    name: "behind a length of 16 digits",
    bytes: `POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 9999999999999999\r\n\r\n${ADMIN}`,
    never: "POST /admin",
  },
  {
    name: "behind a length and an encoding",
    bytes: `POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n${ADMIN}`,
    never: "POST /admin",
  },
  {
    name: "Upgrade: h2c with 2,000 headers",
    bytes: `GET / HTTP/1.1\r\nHost: a\r\nConnection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABk\r\n${Array.from({ length: 2_000 }, (_, i) => `x${i}: 1\r\n`).join("")}\r\n`,
  },
  { name: "garbage behind a request", bytes: `${get("/g")}\u0000\u00ff garbage\r\n\r\n` },
  { name: "garbage behind a check", bytes: `${check("")}\u0000\u00ff garbage\r\n\r\n${check("")}` },
  {
    name: "a length that ends with a tab",
    bytes: "POST /t HTTP/1.1\r\nHost: a\r\nContent-Length: 5\t\r\n\r\nhello",
  },
  { name: "Expect: x", bytes: check("Expect: x\r\n") },
  {
    name: "a page of another site",
    bytes: check("Origin: https://evil.example\r\nContent-Type: text/plain\r\n"),
  },
]
