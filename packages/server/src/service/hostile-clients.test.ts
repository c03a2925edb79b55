// What a thousand hostile clients of the gRPC and RESP ports can make the service hold: a process of its own is measured.

import { once } from "node:events"
import { connect, type Socket } from "node:net"
import { afterEach, beforeAll, expect, it } from "vitest"
import { eventually } from "../../../../test/support/eventually.js"
import { LOOPBACK } from "../../../../test/support/ports.js"
import { buildServer, killAll, start } from "../../../../test/support/service-process.js"
import { FLAG, FRAME, PREFACE, SETTING } from "../http2/frame.js"
import { blockFor, frame, settings } from "../http2/raw-client.test-support.js"

/** Connections that the service has not accepted yet wait in a queue of the system, which has room for 511. */
const AT_ONCE = 250

const sockets: Socket[] = []

beforeAll(buildServer, 60_000)

afterEach(() => {
  for (const socket of sockets.splice(0)) socket.destroy()
  killAll()
})

/** Megabytes that the service has in memory, by its own metrics. */
async function residentMegabytes(control: string | undefined): Promise<number> {
  const text = await (await fetch(`http://${control}/metrics`)).text()
  return Number(/^process_resident_memory_bytes (\S+)$/m.exec(text)?.[1]) / 1e6
}

async function dial(port: number): Promise<Socket> {
  const socket = connect(port, LOOPBACK)
  socket.on("error", () => {})
  sockets.push(socket)
  await once(socket, "connect")
  return socket
}

/** Opens so many connections. Each sends the same bytes, and reads what comes or nothing. */
async function dialMany(port: number, count: number, bytes: Buffer, isReading = true): Promise<void> {
  for (let left = count; left > 0; left -= AT_ONCE)
    await Promise.all(
      Array.from({ length: Math.min(left, AT_ONCE) }, async () => {
        const socket = await dial(port)
        if (isReading) socket.resume()
        else socket.pause()
        socket.write(bytes)
      }),
    )
}

const GRPC = { "content-type": "application/grpc" }
const REFLECTION = "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo"
const RATE_LIMIT = "/envoy.service.ratelimit.v3.RateLimitService/ShouldRateLimit"

function call(id: number, path: string): Buffer {
  return frame(FRAME.HEADERS, FLAG.END_HEADERS, id, blockFor(path, GRPC))
}

/** Three quarters of messages of 250,000 bytes, on three calls. */
function halves(): Buffer {
  const prefix = Buffer.alloc(5)
  prefix.writeUInt32BE(250_000, 1)
  const piece = Buffer.alloc(16_000)
  const parts = [PREFACE, settings()]
  for (const id of [1, 3, 5]) {
    parts.push(call(id, RATE_LIMIT), frame(FRAME.DATA, 0, id, prefix))
    for (let i = 0; i < 12; i++) parts.push(frame(FRAME.DATA, 0, id, piece))
  }
  return Buffer.concat(parts)
}

/** Asks for the description of a service on many calls, and makes room for no answer. */
function questionsWithoutRoom(): Buffer {
  // file_containing_symbol, in its frame.
  const symbol = Buffer.from("envoy.service.ratelimit.v3.RateLimitService")
  const message = Buffer.concat([Buffer.of(0x22, symbol.length), symbol])
  const framed = Buffer.concat([Buffer.of(0, 0, 0, 0, message.length), message])
  const parts = [PREFACE, settings([SETTING.INITIAL_WINDOW_SIZE, 0])]
  for (let id = 1; id < 80; id += 2) parts.push(call(id, REFLECTION), frame(FRAME.DATA, 0, id, framed))
  return Buffer.concat(parts)
}

/** Most of a command. */
function mostOfCommand(): Buffer {
  return Buffer.concat([Buffer.from("*2\r\n$4\r\nECHO\r\n$60000\r\n"), Buffer.alloc(59_000)])
}

/** Has the service say far more than the system takes for a client that reads nothing. */
function longConversation(): Buffer {
  const command = [Buffer.from("*2\r\n$4\r\nECHO\r\n$50000\r\n"), Buffer.alloc(50_000), Buffer.from("\r\n")]
  return Buffer.concat(Array.from({ length: 140 }, () => command).flat())
}

it("a thousand hostile clients make the service hold at most 300 MB, and others are answered meanwhile", async () => {
  // So long that nobody is cut for being slow while this runs.
  const service = await start(["--resp.enabled", "--limits.requestTimeout", "60s"])
  const [grpc, resp] = ["grpc", "resp"].map((name) => Number(service.addresses[name]?.split(":").at(-1)))
  if (grpc === undefined || resp === undefined) throw new Error("a port is not served")
  const { control } = service.addresses
  const before = await residentMegabytes(control)
  let most = before
  const look = async (): Promise<void> => {
    most = Math.max(most, await residentMegabytes(control))
  }
  const looking = setInterval(() => void look().catch(() => {}), 200)
  try {
    await dialMany(grpc, 450, halves())
    await dialMany(grpc, 200, questionsWithoutRoom())
    await dialMany(resp, 300, mostOfCommand())
    await dialMany(resp, 50, longConversation(), false)
    const honest = await dial(resp)
    let said = ""
    honest.on("data", (bytes) => {
      said += bytes
    })
    // Behind all that was sent before.
    honest.write("*5\r\n$11\r\nCL.THROTTLE\r\n$1\r\nk\r\n$1\r\n4\r\n$1\r\n5\r\n$2\r\n60\r\n")
    await eventually(() => said.startsWith("*5\r\n:0\r\n"), { within: 20_000 })
    const answered = await fetch(`${service.url}/v1/check`, { method: "POST", body: '{"user":"ann"}' })
    expect(answered.status).toBe(200)
    await look()
  } finally {
    clearInterval(looking)
  }
  expect(most).toBeGreaterThan(before)
  expect(Math.round(most - before)).toBeLessThan(300)
}, 60_000)
