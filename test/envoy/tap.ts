// A proxy between Envoy and the service that records what both send, for the tests that run without Envoy.

import { once } from "node:events"
import { writeFileSync } from "node:fs"
import { type AddressInfo, connect, createServer, type Socket } from "node:net"
import { RawClient } from "../../packages/server/src/http2/raw-client.test-support.js"
import { received } from "../h2spec/reaction.js"
import { answeredBy, sentBy } from "./calls.js"
import { FIXTURE, type RecordedStep, type Recording } from "./recording.js"

type Connection = { readonly steps: RecordedStep[]; readonly server: RawClient }

export interface Tap {
  readonly port: number
  /** To be called when the clock is moved on. */
  advanced(ms: number): void
  /** The conversation on the connection that had calls, after it has ended. */
  close(): Promise<Pick<Recording, "steps" | "calls">[]>
}

export async function openTap(port: number): Promise<Tap> {
  const connections: Connection[] = []
  let advancedMs = 0
  const proxy = createServer((client) => {
    const upstream = connect({ host: "127.0.0.1", port, noDelay: true })
    const connection = { steps: [] as RecordedStep[], server: new RawClient(upstream) }
    connections.push(connection)
    client.on("data", (bytes: Buffer) => {
      note(connection, bytes, advancedMs)
      advancedMs = 0
    })
    join(client, upstream)
  })
  proxy.listen(0, "127.0.0.1")
  await once(proxy, "listening")
  return {
    port: (proxy.address() as AddressInfo).port,
    advanced(ms) {
      advancedMs += ms
    },
    async close() {
      for (const { server } of connections) server.socket.destroy()
      await new Promise<void>((resolve) => proxy.close(() => resolve()))
      return connections.map(recordingOf).filter(({ calls }) => calls.length > 0)
    },
  }
}

function join(client: Socket, upstream: Socket): void {
  client.setNoDelay(true)
  for (const [one, other] of [
    [client, upstream],
    [upstream, client],
  ] as const) {
    one.on("data", (bytes) => other.write(bytes))
    one.on("error", () => other.destroy())
    one.on("close", () => other.destroy())
  }
}

/** Bytes sent before the next bytes arrive belong to one step, unless the clock was advanced. */
function note({ steps, server }: Connection, bytes: Buffer, advancedMs: number): void {
  const { frames: afterFrames, data: afterData } = received(server)
  const last = steps.at(-1)
  if (
    last !== undefined &&
    advancedMs === 0 &&
    last.afterFrames === afterFrames &&
    last.afterData === afterData
  )
    steps.splice(-1, 1, { ...last, bytes: last.bytes + bytes.toString("hex") })
  else
    steps.push({
      afterFrames,
      afterData,
      ...(advancedMs === 0 ? {} : { advancedMs }),
      bytes: bytes.toString("hex"),
    })
}

function recordingOf({ steps, server }: Connection): Pick<Recording, "steps" | "calls"> {
  const sent = sentBy(Buffer.concat(steps.map(({ bytes }) => Buffer.from(bytes, "hex"))))
  const answered = answeredBy(server.frames)
  const calls = [...sent].flatMap(([stream, call]) => {
    const answer = answered.get(stream)
    return answer === undefined ? [] : [{ stream, sent: call, answered: answer }]
  })
  return { steps, calls }
}

export function save(recordings: readonly Recording[]): void {
  writeFileSync(FIXTURE, `${JSON.stringify(recordings, undefined, 1)}\n`)
}
