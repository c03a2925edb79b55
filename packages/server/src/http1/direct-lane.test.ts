import { once } from "node:events"
import type { RequestListener } from "node:http"
import { connect, type Socket } from "node:net"
import { text } from "node:stream/consumers"
import { afterEach, describe, expect, it } from "vitest"
import { eventually } from "../../../../test/support/eventually.js"
import type { Answer } from "../http/answer.js"
import type { Listener } from "../listener.js"
import { startHttp } from "../service/http-listener.js"
import type { DirectAnswer } from "./direct-lane.js"

/** Says what it was sent, and so does the application behind it: who has answered shows in the first word. */
const direct: DirectAnswer = (target, body) => {
  if (!target.startsWith("/direct")) return undefined
  return { status: 200, type: "text/plain", body: `direct ${target} ${body}`, headers: ["x-remaining", "7"] }
}
const app: RequestListener = async (request, response) => {
  const body = await text(request)
  response.end(`app ${request.url} ${body}`)
}

const listeners: Listener[] = []
const sockets: Socket[] = []

async function start(options: Partial<Parameters<typeof startHttp>[0]> = {}) {
  const listener = await startHttp({ host: "127.0.0.1", port: 0, app, direct, ...options })
  listeners.push(listener)
  const port = Number(new URL(`http://${listener.address}`).port)
  return { listener, port }
}

async function open(port: number) {
  const socket = connect(port, "127.0.0.1")
  sockets.push(socket)
  await once(socket, "connect")
  let heard = ""
  socket.on("data", (chunk) => {
    heard += chunk
  })
  socket.on("error", () => {})
  return {
    socket,
    heard: () => heard,
    send: (bytes: string) => void socket.write(bytes),
    /** Waits for so many answers, and forgets them. */
    async answers(count: number): Promise<string[]> {
      const bodies = await eventually(() => {
        const found = heard.split(/HTTP\/1\.1 /).slice(1)
        return found.length === count && found.every(isWhole) ? found : undefined
      })
      heard = ""
      return bodies.map((answer) => answer.slice(answer.indexOf("\r\n\r\n") + 4))
    },
  }
}

function isWhole(answer: string): boolean {
  const [head = "", body] = answer.split("\r\n\r\n")
  const length = /content-length: (\d+)/i.exec(head)?.[1]
  return body !== undefined && (length === undefined || Buffer.byteLength(body) === Number(length))
}

function post(target: string, body: string, headers = ""): string {
  return `POST ${target} HTTP/1.1\r\nHost: x\r\n${headers}Content-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`
}

afterEach(async () => {
  for (const socket of sockets.splice(0)) socket.destroy()
  await Promise.all(listeners.splice(0).map((listener) => listener.close(0)))
})

it("answers a plain POST with its headers, its length in bytes, the date, and how long the connection is kept", async () => {
  const { port } = await start()
  const client = await open(port)
  client.send(post("/direct", "grüß"))
  await eventually(() => client.heard().includes("grüß"))
  expect(client.heard().replace(/date: .*? GMT/, "date: now")).toBe(
    "HTTP/1.1 200 OK\r\nx-remaining: 7\r\ncontent-type: text/plain\r\ncache-control: no-store\r\ncontent-length: 21\r\ndate: now\r\nconnection: keep-alive\r\nkeep-alive: timeout=65\r\n\r\ndirect /direct grüß",
  )
})

it("understands every plain way to write the same head", async () => {
  const { port } = await start()
  const client = await open(port)
  client.send(
    "POST /direct HTTP/1.1\r\nHOST:x\r\nContent-Type: \t application/json \t\r\ncontent-LENGTH:  2\r\nX-Empty:\r\nConnection: Keep-Alive\r\n\r\nhi",
  )
  expect(await client.answers(1)).toEqual(["direct /direct hi"])
})

it("answers requests that come together in their order, also when some take longer", async () => {
  const waiting: ((answer: Answer) => void)[] = []
  const { port } = await start({
    direct: (target, body) =>
      target === "/later" ? new Promise((resolve) => waiting.push(resolve)) : direct(target, body),
  })
  const client = await open(port)
  client.send(post("/direct", "1") + post("/later", "2") + post("/direct", "3") + post("/plain", "4"))
  expect(await client.answers(1)).toEqual(["direct /direct 1"])
  client.send(post("/plain", "5"))
  waiting[0]?.({ status: 200, type: "text/plain", body: "later 2", headers: [] })
  expect(await client.answers(4)).toEqual(["later 2", "direct /direct 3", "app /plain 4", "app /plain 5"])
})

it("gives a connection to node:http with its first other request, and everything behind it", async () => {
  const { port } = await start()
  const client = await open(port)
  client.send(post("/direct", "1") + post("/other", "2") + post("/direct", "3"))
  expect(await client.answers(3)).toEqual(["direct /direct 1", "app /other 2", "app /direct 3"])
})

it("gives a request that comes in pieces to node:http, wherever it is cut", async () => {
  const { port } = await start()
  const whole = post("/direct", "hello")
  for (let cut = 1; cut < whole.length; cut += 7) {
    const client = await open(port)
    client.socket.setNoDelay(true)
    client.send(whole.slice(0, cut))
    await new Promise(setImmediate)
    client.send(whole.slice(cut))
    const [answer] = await client.answers(1)
    // In one piece after all, if the system put them together.
    expect(["app /direct hello", "direct /direct hello"]).toContain(answer)
  }
})

/** What is not plain, well-formed or not: node:http has the only say about it. */
const notPlain: Readonly<Record<string, string>> = {
  "another method": "GET /direct HTTP/1.1\r\nHost: x\r\n\r\n",
  "a method in lower case": "post /direct HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n",
  "HTTP/1.0": "POST /direct HTTP/1.0\r\nHost: x\r\nContent-Length: 0\r\n\r\n",
  "no host": "POST /direct HTTP/1.1\r\nContent-Length: 0\r\n\r\n",
  "two hosts": "POST /direct HTTP/1.1\r\nHost: x\r\nHost: y\r\nContent-Length: 0\r\n\r\n",
  "no length": "POST /direct HTTP/1.1\r\nHost: x\r\n\r\n",
  "two lengths": "POST /direct HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\nContent-Length: 2\r\n\r\nhi",
  "two lengths in one": "POST /direct HTTP/1.1\r\nHost: x\r\nContent-Length: 2, 2\r\n\r\nhi",
  "a length with a sign": "POST /direct HTTP/1.1\r\nHost: x\r\nContent-Length: +2\r\n\r\nhi",
  "a length in hexadecimal": "POST /direct HTTP/1.1\r\nHost: x\r\nContent-Length: 0x2\r\n\r\nhi",
  "a length and chunks":
    "POST /direct HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
  chunks: "POST /direct HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\n\r\n",
  "a space before the colon": "POST /direct HTTP/1.1\r\nHost: x\r\nContent-Length : 2\r\n\r\nhi",
  "a folded header": "POST /direct HTTP/1.1\r\nHost: x\r\nX-A: b\r\n c\r\nContent-Length: 0\r\n\r\n",
  "lines that end with LF": "POST /direct HTTP/1.1\nHost: x\nContent-Length: 0\n\n",
  "a bare CR in a value": "POST /direct HTTP/1.1\r\nHost: x\r\nX-A: b\rc\r\nContent-Length: 0\r\n\r\n",
  "a NUL in a value": "POST /direct HTTP/1.1\r\nHost: x\r\nX-A: b\0c\r\nContent-Length: 0\r\n\r\n",
  "a space in the target": "POST /direct x HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n",
  "a target with its host": "POST http://x/direct HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n",
  "an empty line before it": "\r\nPOST /direct HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n",
  "an expectation": post("/direct", "hi", "Expect: 100-continue\r\n"),
  "an upgrade": post("/direct", "hi", "Connection: upgrade\r\nUpgrade: websocket\r\n"),
  "the wish to close": post("/direct", "hi", "Connection: close\r\n"),
  "a header without a name": "POST /direct HTTP/1.1\r\nHost: x\r\n: b\r\nContent-Length: 0\r\n\r\n",
  "headers longer than taken": post("/direct", "hi", `X-A: ${"b".repeat(20_000)}\r\n`),
  "no HTTP at all": "\x16\x03\x01\x02\0\x01\0\x01\xfc\x03\x03",
}

describe("what is not plain", () => {
  for (const [name, bytes] of Object.entries(notPlain)) {
    it(`is answered as node:http alone answers it: ${name}`, async () => {
      const answers = await Promise.all(
        [direct, undefined].map(async (lane) => {
          const { port } = await start({ direct: lane })
          const { socket } = await open(port)
          socket.end(bytes, "latin1")
          const heard = await text(socket)
          return heard.replace(/Date: .*? GMT/g, "Date: now")
        }),
      )
      expect(answers[0]).toBe(answers[1])
      expect(answers[0]).not.toContain("direct /direct ")
    })
  }
})

it("has a connection that says nothing cut by node:http", async () => {
  const { port } = await start({ requestTimeoutMs: 200 })
  const { socket } = await open(port)
  expect(await text(socket)).toContain("408 Request Timeout")
})

it("cuts a connection that was used and then idle for too long", async () => {
  const { port } = await start({ keepAliveMs: 50 })
  const client = await open(port)
  client.send(post("/direct", "1"))
  await once(client.socket, "close")
  expect(client.heard()).toContain("direct /direct 1")
})

it("does not read on for a client that sends and does not read", async () => {
  const { port } = await start({
    direct: () => ({ status: 200, type: "text/plain", body: "x".repeat(100_000), headers: [] }),
  })
  const { socket } = await open(port)
  socket.pause()
  const request = post("/direct", "y".repeat(1_000))
  let sent = 0
  const isFull = () => {
    for (; sent < 100_000 && socket.writableLength < 4_000_000; sent++) socket.write(request)
    return socket.writableLength >= 4_000_000
  }
  await eventually(isFull)
})

describe("an answer of bytes", () => {
  const room = Buffer.alloc(100_000)
  /** All answers in the same room, each written over by the next. */
  const startBytes = () =>
    start({
      direct: (_target, body) => {
        const answer = room.subarray(0, Number(String(body).slice(1)))
        return { status: 200, type: "text/plain", body: answer.fill(body.subarray(0, 1)), headers: [] }
      },
    })

  it("is sent whole, between texts and by itself", async () => {
    const { port } = await startBytes()
    const client = await open(port)
    client.send(
      post("/direct", "a7") + post("/direct", "b100000") + post("/direct", "c0") + post("/direct", "d1"),
    )
    expect(await client.answers(4)).toEqual(["a".repeat(7), "b".repeat(100_000), "", "d"])
  })

  it("stays what it was for a client that reads it late, whatever is answered meanwhile", async () => {
    const { port } = await startBytes()
    const late = await open(port)
    late.socket.pause()
    // More than the system keeps for a client that does not read.
    const count = 200
    for (let i = 0; i < count; i++) late.send(post("/direct", `${i % 10}100000`))
    const other = await open(port)
    for (let i = 0; i < 20; i++) {
      other.send(post("/direct", "x100000"))
      expect(await other.answers(1)).toEqual(["x".repeat(100_000)])
    }
    late.socket.resume()
    const answers = await late.answers(count)
    expect(answers.every((answer, i) => answer === String(i % 10).repeat(100_000))).toBe(true)
  })
})

describe("close", () => {
  it("tells the next request on a lane that was idle that it is the last", async () => {
    const { listener, port } = await start()
    const client = await open(port)
    client.send(post("/direct", "1"))
    await client.answers(1)
    const closed = listener.close()
    client.send(post("/direct", "2"))
    await eventually(() => client.heard().includes("direct /direct 2"))
    expect(client.heard()).toContain("connection: close\r\n")
    await closed
  })

  it("waits for an answer that is under way, and not for lanes that stay idle", async () => {
    let resolve: ((answer: Answer) => void) | undefined
    const { listener, port } = await start({
      direct: () =>
        new Promise((done) => {
          resolve = done
        }),
    })
    await open(port)
    const client = await open(port)
    client.send(post("/direct", "1"))
    await eventually(() => resolve !== undefined)
    const closed = listener.close()
    resolve?.({ status: 200, type: "text/plain", body: "after all", headers: [] })
    await closed
    expect(client.heard()).toContain("after all")
  })

  it("hangs up on an answer that takes longer than the deadline", async () => {
    const { listener, port } = await start({ direct: () => new Promise(() => {}) })
    const client = await open(port)
    client.send(post("/direct", "1"))
    await listener.close(20)
    await eventually(() => client.socket.destroyed)
  })
})

it("is used by real clients: fetch and its kept connections", async () => {
  const { port } = await start()
  for (let i = 0; i < 3; i++) {
    const response = await fetch(`http://127.0.0.1:${port}/direct?a=${i}`, {
      method: "POST",
      body: String(i),
    })
    expect(await response.text()).toBe(`direct /direct?a=${i} ${i}`)
  }
  expect(await (await fetch(`http://127.0.0.1:${port}/direct`)).text()).toBe("app /direct ")
})
