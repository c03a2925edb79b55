import { once } from "node:events"
import { connect, createServer, type Server, type Socket } from "node:net"
import { afterEach, describe, expect, it, vi } from "vitest"
import { testCore } from "./core.test-support.js"
import { startHttp2 } from "./http2/server.js"
import { acceptWaiting, type Listener } from "./listener.js"
import { startResp } from "./resp/resp-listener.js"
import { startHttp } from "./service/serving/control-listener.js"

/** Less than the system lets wait for a server. */
const CLIENTS = 100
const sockets: Socket[] = []

afterEach(() => {
  for (const socket of sockets.splice(0)) socket.destroy()
})

/** Connections that the system has made, and that the server has not heard of: nothing of ours runs in between. */
function connectAll(port: number, said: string): Promise<string>[] {
  return Array.from({ length: CLIENTS }, async () => {
    const socket = connect(port, "127.0.0.1")
    sockets.push(socket)
    socket.write(said)
    let heard = ""
    socket.setEncoding("latin1").on("data", (text) => {
      heard += text
    })
    await once(socket, "close")
    return heard
  })
}

const nobody = () => {
  throw new Error("nobody asks for anything")
}

const PROTOCOLS: [string, string, string, () => Promise<Listener>][] = [
  [
    "HTTP",
    "GET / HTTP/1.1\r\nhost: x\r\n\r\n",
    "hello",
    () => startHttp({ host: "127.0.0.1", port: 0, app: (_request, response) => void response.end("hello") }),
  ],
  [
    "the Redis protocol",
    "PING\r\n",
    "+PONG",
    () => startResp(testCore("version: 1\nrules: []\n"), { host: "127.0.0.1", port: 0 }),
  ],
  [
    "HTTP/2",
    // The preface, and empty settings; the first thing that it hears are the server's own.
    "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\u0004\0\0\0\0\0",
    "\u0004\0\0\0\0\0",
    () => startHttp2({ host: "127.0.0.1", port: 0, onRequest: nobody }),
  ],
]

// A busy machine takes its time for so many.
vi.setConfig({ testTimeout: 60_000 })

describe.each(PROTOCOLS)("a listener for %s that is closed", (_name, said, expected, start) => {
  it("answers every client that had connected, and resets none", async () => {
    const listener = await start()
    const port = Number(listener.address.split(":")[1])
    const answers = connectAll(port, said)
    const closed = listener.close(30_000)
    const heard = await Promise.all(answers.map((answer) => answer.catch((error: Error) => error.message)))
    expect(heard.filter((text) => !text.includes(expected))).toEqual([])
    await closed
  })
})

it("ends although clients keep connecting", async () => {
  const server: Server = createServer((socket) => socket.destroy()).listen(0, "127.0.0.1")
  await once(server, "listening")
  const { port } = server.address() as { port: number }
  let isOver = false
  const again = () => {
    if (isOver) return
    const socket = connect(port, "127.0.0.1")
    socket.on("error", () => {})
    socket.on("close", again)
  }
  for (let i = 0; i < 20; i++) again()
  await acceptWaiting(server, 60_000)
  isOver = true
  server.close()
  await once(server, "close")
})
