// Bodies far larger than what may be held of them. SLUICE_BODY_MIB=1024 makes them a gigabyte each.

import { once } from "node:events"
import { request as httpRequest, type IncomingMessage, type ServerResponse } from "node:http"
import { afterEach, beforeAll, describe, expect, it } from "vitest"
import { eventually } from "../support/eventually.js"
import { buildServer, killAll } from "../support/service-process.js"
import { dial, openBackend, openGateway } from "./bed.js"
import { startGatewayProcess } from "./gateway-process.js"

const MIB = 2 ** 20
const size = Number(process.env.SLUICE_BODY_MIB ?? 128) * MIB
/** Allows for socket buffers and garbage; the gateway itself holds less than a MiB of a body. */
const FLAT_MIB = 64
const chunk = Buffer.alloc(MIB, "x")

beforeAll(() => buildServer(), 120_000)
afterEach(() => killAll())

/** Writes so many bytes, no faster than they are taken. */
async function pour(into: ServerResponse | ReturnType<typeof httpRequest>, bytes: number): Promise<void> {
  for (let sent = 0; sent < bytes; sent += chunk.length) if (!into.write(chunk)) await once(into, "drain")
  into.end()
}

async function lengthOf(body: IncomingMessage): Promise<number> {
  let length = 0
  for await (const piece of body) length += (piece as Buffer).length
  return length
}

const pouring = (request: IncomingMessage, response: ServerResponse): void => {
  if (request.method === "GET") {
    void pour(response, size)
    return
  }
  void lengthOf(request).then((length) => response.end(String(length)))
}

describe("a large body", () => {
  it("is uploaded and downloaded completely, chunked and with a length, in constant memory", async () => {
    const backend = await openBackend(pouring)
    const gateway = await startGatewayProcess(backend)
    const upload = async (headers: Record<string, string>) => {
      const call = httpRequest(gateway.url, { method: "POST", headers, agent: false })
      await pour(call, size)
      const [response] = (await once(call, "response")) as [IncomingMessage]
      let text = ""
      for await (const piece of response) text += piece
      return Number(text)
    }
    const download = async () => {
      const call = httpRequest(gateway.url, { agent: false }).end()
      const [response] = (await once(call, "response")) as [IncomingMessage]
      return lengthOf(response)
    }
    await (await fetch(gateway.url, { method: "POST", body: "warm up" })).text()
    const before = gateway.peakMiB()
    expect(await upload({ "content-length": String(size) })).toBe(size)
    expect(await upload({ "transfer-encoding": "chunked" })).toBe(size)
    expect(await download()).toBe(size)
    const grown = gateway.peakMiB() - before
    expect(grown).toBeLessThan(FLAT_MIB)
    process.stdout.write(`bodies of ${size / MIB} MiB: peak memory grew by ${grown.toFixed(1)} MiB\n`)
  }, 300_000)

  it("is read from the upstream no faster than a slow client reads it", async () => {
    let sent = 0
    const backend = await openBackend((_request, response) => {
      response.writeHead(200, { "content-length": 512 * MIB })
      const more = () => {
        while (sent < 512 * MIB && response.write(chunk)) sent += MIB
        sent += MIB
      }
      response.on("drain", more)
      more()
    })
    const gateway = await openGateway({ upstream: backend })
    const socket = await dial(gateway.port)
    socket.pause()
    socket.write("GET / HTTP/1.1\r\nHost: a\r\n\r\n")
    await settled(() => sent)
    // What sockets hold on the way, in the kernel and outside.
    expect(sent).toBeLessThan(64 * MIB)
  })

  it("is read from the client no faster than a slow upstream reads it", async () => {
    const backend = await openBackend((request) => void request.pause())
    const gateway = await openGateway({ upstream: backend })
    const socket = await dial(gateway.port)
    socket.write(`POST / HTTP/1.1\r\nHost: a\r\nContent-Length: ${512 * MIB}\r\n\r\n`)
    const more = () => {
      while (socket.bytesWritten < 512 * MIB && socket.write(chunk));
    }
    socket.on("drain", more)
    more()
    const taken = () => socket.bytesWritten - socket.writableLength
    await settled(taken)
    expect(taken()).toBeLessThan(64 * MIB)
  })
})

/** Waits until something has not changed for half a second. */
async function settled(value: () => number): Promise<void> {
  let last = -1
  await eventually(
    () => {
      const before = last
      last = value()
      return last > 0 && last === before
    },
    { every: 500, within: 20_000 },
  )
}
