// Answers that are no HTTP, or lie about themselves.

import { once } from "node:events"
import { type AddressInfo, createServer, type Socket } from "node:net"
import { LOOPBACK } from "../support/ports.js"
import { afterThis } from "./bed.js"

export interface Liar {
  readonly port: number
  /** Connections so far. */
  readonly connections: () => number
  /** Connections open now. */
  readonly open: () => number
}

/** A server that runs the given function after each complete request head. */
export async function openLiar(answer: (socket: Socket, head: string) => void): Promise<Liar> {
  let connections = 0
  const sockets = new Set<Socket>()
  const server = createServer((socket) => {
    connections++
    sockets.add(socket)
    socket.on("close", () => sockets.delete(socket)).on("error", () => undefined)
    let text = ""
    socket.on("data", (chunk) => {
      text += chunk.toString("latin1")
      for (let end = text.indexOf("\r\n\r\n"); end >= 0; end = text.indexOf("\r\n\r\n")) {
        const head = text.slice(0, end + 4)
        text = text.slice(end + 4)
        answer(socket, head)
      }
    })
  }).listen(0, LOOPBACK)
  await once(server, "listening")
  afterThis(async () => {
    for (const socket of sockets) socket.destroy()
    await new Promise((resolve) => server.close(resolve))
  })
  return {
    port: (server.address() as AddressInfo).port,
    connections: () => connections,
    open: () => sockets.size,
  }
}

const OK = "HTTP/1.1 200 OK\r\n"

/** Each is refused with 502: none of it may reach the client. */
export const lies: readonly { readonly name: string; readonly bytes: string }[] = [
  { name: "no HTTP at all", bytes: "SSH-2.0-OpenSSH_9.2\r\n\r\n" },
  { name: "a page without a head", bytes: "<html>hello</html>\r\n\r\n" },
  { name: "a version that is none", bytes: "HTTP/9.9 200 OK\r\nContent-Length: 0\r\n\r\n" },
  { name: "a status of two digits", bytes: "HTTP/1.1 20 OK\r\nContent-Length: 0\r\n\r\n" },
  { name: "a status of four digits", bytes: "HTTP/1.1 2000 OK\r\nContent-Length: 0\r\n\r\n" },
  { name: "a status that is no number", bytes: "HTTP/1.1 abc OK\r\nContent-Length: 0\r\n\r\n" },
  { name: "status 000", bytes: "HTTP/1.1 000 No\r\nContent-Length: 0\r\n\r\n" },
  {
    name: "a length and chunks",
    bytes: `${OK}Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`,
  },
  { name: "two lengths that differ", bytes: `${OK}Content-Length: 1\r\nContent-Length: 2\r\n\r\nab` },
  { name: "a negative length", bytes: `${OK}Content-Length: -1\r\n\r\n` },
  { name: "a length that is no number", bytes: `${OK}Content-Length: three\r\n\r\nabc` },
  { name: "a length beyond all numbers", bytes: `${OK}Content-Length: 99999999999999999999\r\n\r\n` },
  { name: "an encoding nobody knows", bytes: `${OK}Transfer-Encoding: magic\r\n\r\n` },
  { name: "a header with a NUL", bytes: `${OK}X: a\0b\r\nContent-Length: 0\r\n\r\n` },
  { name: "a header with a bare CR", bytes: `${OK}X: a\rb\r\nContent-Length: 0\r\n\r\n` },
  { name: "a header without a colon", bytes: `${OK}hello\r\nContent-Length: 0\r\n\r\n` },
  { name: "a header with a space in its name", bytes: `${OK}X Y: z\r\nContent-Length: 0\r\n\r\n` },
  { name: "a folded header", bytes: `${OK}X: a\r\n b\r\nContent-Length: 0\r\n\r\n` },
  { name: "a head without end", bytes: `${OK}${`X: ${"y".repeat(1000)}\r\n`.repeat(1000)}` },
  { name: "one header without end", bytes: `${OK}X: ${"y".repeat(1_000_000)}` },
  { name: "a flood of interim answers", bytes: "HTTP/1.1 102 Processing\r\n\r\n".repeat(10_000) },
  {
    name: "an upgrade that nobody asked for",
    bytes: "HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n",
  },
]

/** Each starts with a valid head. The fault comes after the client has its status, so the gateway can only cut the answer. */
export const lateLies: readonly { readonly name: string; readonly bytes: string }[] = [
  { name: "a chunk size that is none", bytes: `${OK}Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\nxyz\r\n` },
  {
    name: "more data than the chunk says",
    bytes: `${OK}Transfer-Encoding: chunked\r\n\r\n3\r\nabcdef\r\n0\r\n\r\n`,
  },
  {
    name: "a chunk size that overflows",
    bytes: `${OK}Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\nFFFFFFFFFFFFFFFFF\r\n`,
  },
  {
    name: "trailers without end",
    bytes: `${OK}Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n${`X: ${"y".repeat(1000)}\r\n`.repeat(1000)}`,
  },
]
