// What an HTTP/1 server tells, brought to the gateway: one request of a connection after the other.

import type { Server as HttpServer, IncomingMessage, ServerResponse } from "node:http"
import type { Server as HttpsServer } from "node:https"
import type { Socket } from "node:net"
import type { Duplex } from "node:stream"
import { beginRequest, SerialSocket, serveSerially } from "../../http1/serial-socket.js"
import type { Gateway } from "../front/gateway.js"
import { asksForHttp2, takeAsPlain } from "./plain-request.js"

/** What the server must be made with: the gateway itself looks at these, so that a refusal follows its rules and ends the connection. */
export const checkedByGateway = {
  requireHostHeader: false,
  // Whatever the process was started with: leniency here is how requests are smuggled.
  insecureHTTPParser: false,
} as const

/** `handle` is for those who look at a request before the gateway does. */
export function wireHttp1(
  server: HttpServer | HttpsServer,
  gateway: Gateway,
  handle: (request: IncomingMessage, response: ServerResponse) => void = gateway.handle,
): void {
  const serve = serveSerially(server)
  const onRequest = (request: IncomingMessage, response: ServerResponse): void => {
    beginRequest(request, response)
    handle(request, response)
  }
  // Node leaves out what is beyond: a length among it would make a request of a body.
  server.maxHeadersCount = 0
  server.on("request", onRequest).on("checkContinue", onRequest).on("checkExpectation", onRequest)
  server.on("upgrade", (request: IncomingMessage, given: Duplex, head: Buffer) => {
    const { socket, rest } = detached(given, head)
    if (asksForHttp2(request)) takeAsPlain(request, socket, rest, serve)
    else gateway.upgrade(request, socket, rest)
  })
  server.on("connect", (request: IncomingMessage, given: Duplex, head: Buffer) =>
    gateway.connect(request, detached(given, head).socket),
  )
  server.on("clientError", (error: Error, socket: Duplex) => gateway.clientError(error, socket))
}

function detached(given: Duplex, head: Buffer): { socket: Socket; rest: Buffer } {
  if (!(given instanceof SerialSocket)) return { socket: given as Socket, rest: head }
  const { socket, rest } = given.detach()
  return { socket, rest: head.length === 0 ? rest : Buffer.concat([head, rest]) }
}
