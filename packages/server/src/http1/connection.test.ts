import { once } from "node:events"
import { connect, type Socket } from "node:net"
import { text } from "node:stream/consumers"
import { setTimeout as sleep } from "node:timers/promises"
import { afterEach, describe, expect, it } from "vitest"
import { eventually } from "../../../../test/support/eventually.js"
import type { Http1Handler, Http1Limits } from "./connection.js"
import { type Http1Listener, listenHttp1 } from "./listener.js"
import type { Http1Request } from "./request.js"
import type { Http1Response } from "./response.js"

const LIMITS: Http1Limits = {
  maxHeaderBytes: 16_384,
  maxHeaders: 100,
  headTimeoutMs: 10_000,
  requestTimeoutMs: 10_000,
  keepAliveMs: 65_000,
}

/** Answers what it was asked. */
async function echo(request: Http1Request, response: Http1Response): Promise<void> {
  const { method, url } = request
  if (request.expectsContinue) response.interim(100)
  const body = request.bodyStream === undefined ? String(request.body ?? "") : await text(request.bodyStream)
  response.whole(200, "x-remaining: 7\r\n", `${method} ${url} ${body}`)
}

const listeners: Http1Listener[] = []
const sockets: Socket[] = []

interface StartOptions extends Partial<Omit<Http1Handler, "handle">> {
  readonly limits?: Partial<Http1Limits>
  readonly answerTimeoutMs?: number
  readonly maxConnections?: number
}

async function start(handle: Http1Handler["handle"] = echo, options: StartOptions = {}) {
  const { limits, answerTimeoutMs = 30_000, maxConnections = 1_000, ...handler } = options
  const listener = await listenHttp1({
    host: "127.0.0.1",
    port: 0,
    handler: { endsWithClient: false, ...handler, handle },
    limits: { ...LIMITS, ...limits },
    maxConnections,
    answerTimeoutMs,
  })
  listeners.push(listener)
  return { listener, port: Number(new URL(`http://${listener.address}`).port) }
}

async function open(port: number) {
  const socket = connect(port, "127.0.0.1").setNoDelay(true)
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
    send: (bytes: string) => void socket.write(bytes, "latin1"),
    /** Waits for so many answers, and forgets them. */
    async answers(count: number): Promise<string[]> {
      const found = await eventually(() => {
        const answers = heard.split(/HTTP\/1\.1 /).slice(1)
        return answers.length === count && answers.every(isWhole) ? answers : undefined
      })
      heard = ""
      return found.map((answer) => answer.slice(answer.indexOf("\r\n\r\n") + 4))
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

/** Sends bytes, ends its side, and returns all that comes back. */
async function said(port: number, bytes: string): Promise<string> {
  const socket = connect({ port, host: "127.0.0.1", allowHalfOpen: true })
  sockets.push(socket)
  socket.on("error", () => {})
  socket.end(bytes, "latin1")
  return await text(socket)
}

afterEach(async () => {
  for (const socket of sockets.splice(0)) socket.destroy()
  await Promise.all(listeners.splice(0).map((listener) => listener.close(0)))
})

describe("an answer", () => {
  it("has its headers, Content-Length, Date and Keep-Alive", async () => {
    const { port } = await start((_request, response) => response.whole(200, "x-remaining: 7\r\n", "grüß"))
    const client = await open(port)
    client.send(post("/", ""))
    await eventually(() => client.heard().includes("grüß"))
    expect(client.heard().replace(/Date: .*? GMT/, "Date: now")).toBe(
      "HTTP/1.1 200 OK\r\nx-remaining: 7\r\ncontent-length: 6\r\nDate: now\r\nConnection: keep-alive\r\nKeep-Alive: timeout=65\r\n\r\ngrüß",
    )
  })

  it("to HEAD has the length of the body, and no body", async () => {
    const { port } = await start((_request, response) => response.whole(200, "", "hello"))
    const answer = await said(port, "HEAD / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
    expect(answer).toContain("content-length: 5\r\n")
    expect(answer.endsWith("\r\n\r\n")).toBe(true)
  })

  it("without a length is sent in chunks, and to HTTP/1.0 until the connection ends", async () => {
    const { port } = await start((_request, response) => {
      response.head(200, "HTTP/1.1 200 OK\r\n", "", { hasDate: false, hasLength: false })
      response.write(Buffer.from("hello"))
      response.end(Buffer.from("!"), ["x-sum", "1"])
    })
    expect(await said(port, "GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")).toMatch(
      /Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n1\r\n!\r\n0\r\nx-sum: 1\r\n\r\n$/,
    )
    const old = await said(port, "GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n")
    expect(old).toMatch(/Connection: close\r\n\r\nhello!$/)
  })

  it("that is complete is sent even if the end of the client, or bytes that are not HTTP, arrive with the request", async () => {
    const { port } = await start((_request, response) => response.whole(200, "", "early"), {
      endsWithClient: true,
    })
    expect(await said(port, post("/", "body"))).toMatch(/early$/)
    const upload = "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
    expect(await said(port, `${upload}not a chunk\r\n`)).toMatch(/early$/)
  })

  it("keeps an HTTP/1.0 connection only if the client asks for it", async () => {
    const { port } = await start()
    expect(await said(port, "GET / HTTP/1.0\r\n\r\n")).toContain("Connection: close\r\n")
    const client = await open(port)
    client.send("GET /1 HTTP/1.0\r\nConnection: keep-alive\r\n\r\n")
    await client.answers(1)
    client.send("GET /2 HTTP/1.0\r\n\r\n")
    expect(await client.answers(1)).toEqual(["GET /2 "])
  })
})

describe("a request", () => {
  it("is read the same wherever it is split", async () => {
    const { port } = await start()
    const requests = [
      post("/length", "hello"),
      "PUT /chunks HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n3;a=b\r\nhel\r\n2\r\nlo\r\n0\r\nx: y\r\n\r\n",
      "\r\nGET /none HTTP/1.1\r\nHost: x\r\n\r\n",
    ]
    const whole = requests.join("")
    for (let cut = 1; cut < whole.length; cut += 5) {
      const client = await open(port)
      client.send(whole.slice(0, cut))
      await new Promise(setImmediate)
      client.send(whole.slice(cut))
      expect(await client.answers(3)).toEqual(["POST /length hello", "PUT /chunks hello", "GET /none "])
      client.socket.destroy()
    }
  })

  it("waits until the answers before it are sent", async () => {
    const waiting: (() => void)[] = []
    const { port } = await start((request, response) => {
      if (request.url === "/later") waiting.push(() => response.whole(200, "", "later"))
      else void echo(request, response)
    })
    const client = await open(port)
    client.send(post("/1", "a") + post("/later", "b") + post("/3", "c"))
    expect(await client.answers(1)).toEqual(["POST /1 a"])
    client.send(post("/4", "d"))
    waiting[0]?.()
    expect(await client.answers(3)).toEqual(["later", "POST /3 c", "POST /4 d"])
  })

  it("gets 100 Continue only if its body is read, and then keeps its connection", async () => {
    const { port } = await start()
    const client = await open(port)
    client.send("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\nExpect: 100-continue\r\n\r\n")
    await eventually(() => client.heard() === "HTTP/1.1 100 Continue\r\n\r\n")
    client.send("hi")
    await eventually(() => client.heard().endsWith("POST / hi"))
    expect(client.heard()).toContain("Connection: keep-alive")
  })

  it("whose body is not read keeps its connection if the rest is short, and closes it if it is long", async () => {
    const { port } = await start((_request, response) => response.whole(403, "", "no"))
    const short = await open(port)
    short.send("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nab")
    await short.answers(1)
    short.send(`cde${post("/", "")}`)
    expect(await short.answers(1)).toEqual(["no"])
    const long = await open(port)
    long.send(`POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000\r\n\r\n${"x".repeat(100_000)}`)
    await once(long.socket, "close")
    expect(long.heard()).toContain("Connection: close\r\n")
  })

  it("that asks for an upgrade is handled as an ordinary one, or passed on with the bytes after it", async () => {
    const upgrade =
      "GET / HTTP/1.1\r\nHost: x\r\nConnection: keep-alive, Upgrade\r\nUpgrade: echo\r\n\r\nREST"
    const { port } = await start()
    const ordinary = await open(port)
    ordinary.send(upgrade)
    expect(await ordinary.answers(1)).toEqual(["GET / "])
    const handed = await start(echo, {
      upgrade: (_request, socket, rest) => void socket.end(`switched ${rest}`),
    })
    expect(await said(handed.port, upgrade)).toBe("switched REST")
    expect(await said(handed.port, upgrade.replace("echo", "h2c").replace("REST", ""))).toContain("GET / ")
  })
})

describe("a malformed request is refused, the connection closed, and nothing after it read", () => {
  const refused: [string, number, string][] = [
    ["an unknown method", 400, "post / HTTP/1.1\r\nHost: x\r\n\r\n"],
    ["an unknown version", 400, "GET / HTTP/2.0\r\nHost: x\r\n\r\n"],
    ["no host", 400, "GET / HTTP/1.1\r\n\r\n"],
    ["two hosts", 400, "GET / HTTP/1.1\r\nHost: x\r\nHost: y\r\n\r\n"],
    ["two lengths", 400, "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\nContent-Length: 2\r\n\r\nhi"],
    ["two lengths in one", 400, "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 2, 2\r\n\r\nhi"],
    ["a length with a sign", 400, "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: +2\r\n\r\nhi"],
    ["a length of 16 digits", 400, "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 0000000000000000\r\n\r\n"],
    ["a tab behind the length", 400, "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 2\t\r\n\r\nhi"],
    [
      "a length and chunks",
      400,
      "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    ],
    ["chunks in HTTP/1.0", 400, "POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"],
    ["an unknown encoding", 501, "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: gzip, chunked\r\n\r\n"],
    ["a malformed chunk", 400, "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n0x2\r\nhi"],
    ["a space before the colon", 400, "GET / HTTP/1.1\r\nHost: x\r\na : b\r\n\r\n"],
    ["a folded header", 400, "GET / HTTP/1.1\r\nHost: x\r\na: b\r\n c\r\n\r\n"],
    ["lines that end with LF", 400, "GET / HTTP/1.1\nHost: x\n\n"],
    ["a bare CR in a value", 400, "GET / HTTP/1.1\r\nHost: x\r\na: b\rc\r\n\r\n"],
    ["a NUL in a value", 400, "GET / HTTP/1.1\r\nHost: x\r\na: b\0c\r\n\r\n"],
    ["a host that is none in the target", 400, "GET http://}a/b HTTP/1.1\r\nHost: x\r\n\r\n"],
    ["a space in the target", 400, "GET /a b HTTP/1.1\r\nHost: x\r\n\r\n"],
    ["a header without a name", 400, "GET / HTTP/1.1\r\nHost: x\r\n: b\r\n\r\n"],
    ["a head that is too long", 431, `GET / HTTP/1.1\r\nHost: x\r\na: ${"b".repeat(20_000)}\r\n\r\n`],
    ["too many headers", 431, `GET / HTTP/1.1\r\nHost: x\r\n${"a: b\r\n".repeat(200)}\r\n`],
    ["no HTTP at all", 400, "\x16\x03\x01\x02\0\x01\0\x01\xfc\x03\x03"],
    ["half a head", 400, "GET / HTTP/1.1\r\nHost"],
    ["half a body", 400, "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\nhi"],
  ]

  it.each(refused)("%s: %i", async (_, status, bytes) => {
    const seen: string[] = []
    const { port } = await start((request, response) => {
      seen.push(request.url)
      if (request.url !== "/") response.whole(200, "", "")
    })
    const isCut = bytes.startsWith("GET / HTTP/1.1\r\nHost") && !bytes.includes("\r\n\r\n")
    const behind = isCut || bytes.includes("Content-Length: 9\r\n") ? "" : post("/behind", "")
    const answer = await said(port, bytes + behind)
    expect(answer).toMatch(new RegExp(`^HTTP/1.1 ${status} [A-Za-z ]+\r\nConnection: close\r\n\r\n$`))
    expect(seen).not.toContain("/behind")
  })

  it("with the handler's body for refusals, after the answers before it", async () => {
    const { port } = await start(echo, {
      refusal: (status) => ({ contentType: "text/plain", body: `refused with ${status}` }),
    })
    const answer = await said(port, `${post("/", "a")}garbage\r\n\r\n${post("/behind", "")}`)
    expect(answer.split("HTTP/1.1 ")).toHaveLength(3)
    expect(answer).toMatch(
      /POST \/ aHTTP\/1\.1 400 Bad Request\r\n.*content-length: 16\r\n.*refused with 400$/s,
    )
  })
})

describe("a client that", () => {
  it("stays silent, or does not finish its request, is answered 408", async () => {
    const { port } = await start(() => {}, { limits: { headTimeoutMs: 100, requestTimeoutMs: 200 } })
    for (const bytes of [
      "",
      "\r\n",
      "POST / HTTP/1.1\r\nhost: x\r\n",
      "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\nx",
    ]) {
      const client = await open(port)
      client.send(bytes)
      await once(client.socket, "close")
      expect(client.heard(), JSON.stringify(bytes)).toContain("408 Request Timeout")
    }
  })

  it("sends only line ends is treated as silent", async () => {
    const { port } = await start(echo, { limits: { keepAliveMs: 150 } })
    const client = await open(port)
    client.send(post("/", "1"))
    await client.answers(1)
    const timer = setInterval(() => client.send("\r\n"), 20)
    await eventually(() => client.socket.destroyed)
    clearInterval(timer)
    expect(client.heard()).toBe("")
  })

  it("is idle for too long after an answer is disconnected", async () => {
    const { port } = await start(echo, { limits: { keepAliveMs: 50 } })
    const client = await open(port)
    client.send(post("/", "1"))
    await once(client.socket, "close")
    expect(client.heard()).toContain("POST / 1")
  })

  it("half-closes during its request is answered, or dropped if the handler says so", async () => {
    for (const endsWithClient of [false, true]) {
      const over: string[] = []
      const { port } = await start(
        (_request, response) => {
          response.onOver = () => void over.push("over")
          setTimeout(() => response.whole(200, "", "late"), 100)
        },
        { endsWithClient },
      )
      expect((await said(port, post("/", ""))).endsWith("late")).toBe(!endsWithClient)
      await eventually(() => over.length === 1)
    }
  })

  it("disconnects has its request notified, and its body ended", async () => {
    const told: string[] = []
    const { port } = await start((request, response) => {
      response.onOver = () => void told.push("over")
      request.bodyStream?.on("close", () => told.push("closed")).resume()
    })
    const client = await open(port)
    client.send("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\nx")
    await new Promise(setImmediate)
    client.socket.destroy()
    await eventually(() => told.length === 2)
  })
})

const REQUESTS = 1_000
const LARGE = "x".repeat(100_000)

describe("a client that sends many requests and reads no answer", () => {
  const request = post("/", "")

  it.each([
    ["promised", async (response: Http1Response) => response.whole(200, "", LARGE)],
    ["immediate", (response: Http1Response) => response.whole(200, "", LARGE)],
  ])("is buffered up to a limit only: %s", async (_kind, answer) => {
    let asked = 0
    const { port } = await start((_request, response) => {
      asked++
      void answer(response)
    })
    const socket = connect(port, "127.0.0.1")
    sockets.push(socket)
    socket.write(request.repeat(REQUESTS))
    // The system takes a few megabytes; then no handler is called any more.
    await eventually(() => asked > 0)
    for (let before = -1; before !== asked; ) {
      before = asked
      await sleep(200)
    }
    expect(asked).toBeLessThan(REQUESTS / 2)
    // Once it reads, it gets everything.
    let heard = 0
    socket.on("data", (bytes) => {
      heard += bytes.length
    })
    await eventually(() => heard > REQUESTS * LARGE.length)
    expect(asked).toBe(REQUESTS)
  })

  it("has a few of them handled at a time, with other clients in between", async () => {
    let asked = 0
    let most = 0
    const { port } = await start(async (_request, response) => {
      asked++
      response.whole(200, "", "short")
    })
    const client = await open(port)
    let before = 0
    const turn = () => {
      most = Math.max(most, asked - before)
      before = asked
      if (asked < REQUESTS) setImmediate(turn)
    }
    setImmediate(turn)
    client.send(request.repeat(REQUESTS))
    await eventually(() => before === REQUESTS)
    expect(most).toBeLessThan(40)
  })

  it("gets all its answers after it has half-closed", async () => {
    const { port } = await start((_request, response) => response.whole(200, "", LARGE))
    expect((await said(port, request.repeat(100))).length).toBeGreaterThan(100 * LARGE.length)
  })

  it("is read no further than the pipelining limit", async () => {
    const { port } = await start(() => {})
    const { socket } = await open(port)
    const isFull = () => {
      while (socket.writableLength < 4_000_000) socket.write(request.repeat(100))
      return socket.bytesWritten > 4_000_000 && socket.writableLength >= 4_000_000
    }
    await eventually(isFull)
  })
})

describe("an answer that the client does not read", () => {
  it.each<[string, Http1Handler["handle"]]>([
    ["that is whole", (_request, response) => response.whole(200, "", LARGE.repeat(200))],
    [
      "that has no end",
      (_request, response) => {
        response.head(200, "HTTP/1.1 200 OK\r\n", "", { hasDate: false, hasLength: false })
        const timer = setInterval(() => response.write(Buffer.from(LARGE)), 1)
        response.onOver = () => clearInterval(timer)
      },
    ],
  ])("has a deadline: one %s", async (_kind, handle) => {
    const { port } = await start(handle, { answerTimeoutMs: 100 })
    const socket = connect(port, "127.0.0.1").on("error", () => {})
    sockets.push(socket)
    socket.write(post("/", ""))
    await eventually(() => {
      socket.write("x")
      return socket.destroyed
    })
  })

  it("that is read slowly arrives whole", async () => {
    const { port } = await start((_request, response) => response.whole(200, "", LARGE.repeat(200)), {
      answerTimeoutMs: 1_000,
    })
    const socket = connect(port, "127.0.0.1")
    sockets.push(socket)
    socket.write(post("/", "", "Connection: close\r\n"))
    let bytes = 0
    for await (const piece of socket) {
      bytes += piece.length
      await sleep(bytes % (1 << 20) < 65_536 ? 60 : 0)
    }
    expect(bytes).toBeGreaterThan(200 * LARGE.length)
  })
})

describe("close", () => {
  it("announces with the next answer on an idle connection that it closes", async () => {
    const { listener, port } = await start()
    const client = await open(port)
    client.send(post("/", "1"))
    await client.answers(1)
    const closed = listener.close()
    client.send(post("/", "2"))
    await eventually(() => client.heard().includes("POST / 2"))
    expect(client.heard()).toContain("Connection: close\r\n")
    await closed
  })

  it("waits for an answer in progress, and not for idle or silent connections", async () => {
    let answer = () => {}
    const { listener, port } = await start((_request, response) => {
      answer = () => response.whole(200, "", "after all")
    })
    await open(port)
    const client = await open(port)
    client.send(post("/", "1"))
    await eventually(() => answer.length === 0 && answer.toString().includes("whole"))
    const started = performance.now()
    const closed = listener.close(60_000)
    answer()
    await closed
    expect(client.heard()).toContain("after all")
    expect(performance.now() - started).toBeLessThan(5_000)
  })

  it("closes the connection of an answer that takes longer than the deadline", async () => {
    const { listener, port } = await start(() => {})
    const client = await open(port)
    client.send(post("/", "1"))
    await listener.close(20)
    await eventually(() => client.socket.destroyed)
  })

  it("may be called twice", async () => {
    const { listener } = await start()
    await Promise.all([listener.close(), listener.close()])
  })
})

it("accepts at most maxConnections at once", async () => {
  const { port } = await start(echo, { maxConnections: 1 })
  const first = await open(port)
  const second = await open(port)
  await once(second.socket, "close")
  first.send(post("/", "1", "Connection: close\r\n"))
  expect(await first.answers(1)).toEqual(["POST / 1"])
})

it("works with fetch and its kept connections", async () => {
  const { port } = await start()
  for (let i = 0; i < 3; i++) {
    const url = `http://127.0.0.1:${port}/a?b=${i}`
    const response = await fetch(url, { method: "POST", body: String(i) })
    expect(await response.text()).toBe(`POST /a?b=${i} ${i}`)
  }
})
