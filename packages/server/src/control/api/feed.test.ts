import { createServer } from "node:http"
import { type AddressInfo, connect, type Socket } from "node:net"
import { afterEach, beforeEach, describe, expect, it } from "vitest"
import { eventually } from "../../../../../test/support/eventually.js"
import { startControl, type TestControl } from "../control-plane.test-support.js"
import { Feed } from "./feed.js"

let control: TestControl

async function start(events = {}): Promise<TestControl> {
  control = await startControl({ events })
  return control
}

beforeEach(async () => {
  await start()
})

afterEach(async () => {
  expect(control.errors).toEqual([])
  await control.close()
})

/** Listens, and keeps all that it hears. */
async function listen(lastEventId?: string) {
  const headers: Record<string, string> = lastEventId === undefined ? {} : { "last-event-id": lastEventId }
  const leave = new AbortController()
  const response = await fetch(`${control.url}/events`, { headers, signal: leave.signal })
  let heard = ""
  let ended = false
  const reading = (async () => {
    const decoder = new TextDecoder()
    try {
      for await (const chunk of response.body as unknown as AsyncIterable<Uint8Array>)
        heard += decoder.decode(chunk, { stream: true })
    } catch {
      // We left.
    }
    ended = true
  })()
  await eventually(() => heard.includes(": connected"))
  return {
    response,
    reading,
    heard: () => heard,
    ended: () => ended,
    events: () =>
      [...heard.matchAll(/event: (\w+)\ndata: (.*)\n/g)].map(([, type, data]) => [
        type,
        JSON.parse(String(data)),
      ]),
    lastId: () => [...heard.matchAll(/^id: (.+)$/gm)].at(-1)?.[1],
    leave: () => leave.abort(),
  }
}

describe("GET /events", () => {
  it("sends events as they happen", async () => {
    const listener = await listen()
    expect(listener.response.headers.get("content-type")).toBe("text/event-stream")
    const decisions = { type: "decisions", at: 1, rules: [{ id: "login", allowed: 3, denied: 1 }] }
    control.watch.notify(decisions)
    control.watch.notify({ type: "rules", revision: 2 })
    await eventually(() => listener.events().length === 2)
    expect(listener.events()).toEqual([
      ["decisions", decisions],
      ["rules", { type: "rules", revision: 2 }],
    ])
    listener.leave()
  })

  it("keeps each event separate, whatever text it contains", async () => {
    const listener = await listen()
    control.watch.notify({ type: "store", failures: { "a\n\nevent: forged\ndata: {}": 1 } })
    await eventually(() => listener.events().length > 0)
    expect(listener.events()).toHaveLength(1)
    listener.leave()
  })

  it("sends a client that reconnects the events that it missed", async () => {
    control.watch.notify({ type: "rules", revision: 2 })
    const first = await listen("")
    control.watch.notify({ type: "rules", revision: 3 })
    const id = await eventually(() => first.lastId())
    first.leave()
    await first.reading
    control.watch.notify({ type: "rules", revision: 4 })
    control.watch.notify({ type: "rules", revision: 5 })
    const second = await listen(id)
    expect(second.events().map(([, data]) => data.revision)).toEqual([4, 5])
    second.leave()
  })

  it("reports when some of the missed events are no longer kept", async () => {
    await control.close()
    await start({ kept: 3 })
    const first = await listen()
    control.watch.notify({ type: "rules", revision: 1 })
    const id = await eventually(() => first.lastId())
    first.leave()
    for (let revision = 2; revision <= 5; revision++) control.watch.notify({ type: "rules", revision })
    const late = await listen(id)
    expect(late.events().map(([type, data]) => [type, data.revision])).toEqual([
      ["missed", undefined],
      ["rules", 3],
      ["rules", 4],
      ["rules", 5],
    ])
    late.leave()
    for (const other of ["another-run.1", "nonsense", `${id?.split(".")[0]}.999`]) {
      const stranger = await listen(other)
      expect(stranger.events()).toEqual([["missed", {}]])
      stranger.leave()
    }
  })

  it("sends a comment regularly, so that proxies keep the connection open", async () => {
    await control.close()
    await start({ heartbeatMs: 5 })
    const listener = await listen()
    await eventually(() => listener.heard().split(": still here\n\n").length > 3)
    listener.leave()
  })

  it("limits the number of listeners, and accepts another when one leaves", async () => {
    await control.close()
    await start({ maxListeners: 2 })
    const [first, second] = [await listen(), await listen()]
    const third = await control.ask("GET", "/events")
    expect([third.status, third.json.code, third.headers.get("retry-after")]).toEqual([
      503,
      "EVENTS_FULL",
      "10",
    ])
    first.leave()
    const fourth = await eventually(() => listen())
    fourth.leave()
    second.leave()
  })

  it("disconnects a listener that does not read, and no other", async () => {
    const feed = new Feed(control.watch, { maxWaitingBytes: 65_536 })
    const server = createServer((request, response) => feed.open(request, response))
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
    const { port } = server.address() as AddressInfo
    const [reading, stuck] = [await listenRaw(port), await listenRaw(port)]
    let read = 0
    reading.on("data", (chunk) => {
      read += chunk.length
    })
    stuck.pause()
    expect(feed.listeners).toBe(2)
    const event = { type: "decisions", filler: "x".repeat(1_000_000) }
    let told = 0
    // The system holds a few megabytes for a connection before anything waits here.
    await eventually(async () => {
      control.watch.notify(event)
      told += event.filler.length
      await eventually(() => read >= told)
      return feed.listeners === 1
    })
    expect(reading.closed).toBe(false)
    feed.close()
    reading.destroy()
    stuck.destroy()
    server.closeAllConnections()
    server.close()
  })

  it("ends every stream when the service closes", async () => {
    const listener = await listen()
    control.plane.close()
    await listener.reading
    expect(listener.ended()).toBe(true)
    expect(control.watch.listeners.size).toBe(0)
  })
})

/** A connection that asks for events, and has had the first of the answer. */
async function listenRaw(port: number): Promise<Socket> {
  const socket = connect(port, "127.0.0.1")
  socket.on("error", () => {})
  socket.write("GET /events HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n")
  await new Promise<void>((resolve) => socket.once("data", () => resolve()))
  return socket
}
