import { EventEmitter, once } from "node:events"
import type { RequestListener, ServerResponse } from "node:http"
import { connect, type Socket } from "node:net"
import { text } from "node:stream/consumers"
import { afterEach, describe, expect, it } from "vitest"
import { explainListenError, type Service, type ServiceOptions, startService } from "./service.js"

const hello: RequestListener = (_request, response) => void response.end("hello")
const services: Service[] = []

async function start(app: RequestListener, options: Partial<ServiceOptions> = {}): Promise<Service> {
  const service = await startService({ host: "127.0.0.1", port: 0, app, ...options })
  services.push(service)
  return service
}

async function connectTo(service: Service): Promise<Socket> {
  const { hostname, port } = new URL(service.url)
  const socket = connect(Number(port), hostname)
  await once(socket, "connect")
  return socket
}

afterEach(async () => {
  await Promise.all(services.splice(0).map((service) => service.close()))
})

describe("close", () => {
  it("lets a request under way finish, and then ends its connection", async () => {
    const requests = new EventEmitter<{ arrived: [ServerResponse] }>()
    const service = await start((_request, response) => void requests.emit("arrived", response))
    const arrived = once(requests, "arrived")
    const answer = fetch(service.url)
    const [response] = await arrived
    const closed = service.close()
    response.end("done")
    expect((await answer).headers.get("connection")).toBe("close")
    expect(await (await answer).text()).toBe("done")
    await closed
    await expect(fetch(service.url)).rejects.toThrow()
  })

  it("does not wait for idle connections", async () => {
    const service = await start(hello)
    await (await fetch(service.url)).text()
    await service.close()
  })

  it("hangs up on a request that takes longer than the grace", async () => {
    const service = await start(() => {}, { graceMs: 20 })
    const answer = fetch(service.url)
    answer.catch(() => {})
    await service.close()
    await expect(answer).rejects.toThrow()
  })

  it("may be called twice", async () => {
    const service = await start(hello)
    await Promise.all([service.close(), service.close()])
  })
})

it("answers 408 to a client that does not finish its request in time", async () => {
  const service = await start(hello, { requestTimeoutMs: 40 })
  const socket = await connectTo(service)
  socket.write("POST / HTTP/1.1\r\nhost: x\r\n")
  expect(await text(socket)).toContain("408 Request Timeout")
})

it("answers bytes that are no HTTP with 400", async () => {
  const service = await start(hello)
  const socket = await connectTo(service)
  socket.end("what is this\r\n\r\n")
  expect(await text(socket)).toContain("400 Bad Request")
})

it("says what to do when the port is taken", async () => {
  const { url } = await start(hello)
  const port = Number(new URL(url).port)
  const error = await start(hello, { port }).catch((reason: unknown) => reason)
  expect(explainListenError(error, { host: "127.0.0.1", port })).toBe(
    `Port ${port} on 127.0.0.1 is taken by another program. Stop it, or use another port:\n\n  PORT=${port + 1} npm start`,
  )
})
