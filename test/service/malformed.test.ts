import { type ChildProcess, fork } from "node:child_process"
import { once } from "node:events"
import { connect } from "node:net"
import { join } from "node:path"
import { build } from "rolldown"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { closeRoom, openRoom, setOccupant } from "../support/sandbox.js"
import { portOf } from "./bed.js"
import { generators, randomOf } from "./malformed.js"

/** The same inputs again: SLUICE_SEED=… */
const SEED = Number(process.env.SLUICE_SEED ?? Math.floor(Math.random() * 2 ** 31))
const RUNS = Number(process.env.SLUICE_RUNS ?? 1)
const INPUTS = { http: 5_000, control: 1_500, grpc: 5_000, resp: 1_500 } as const
const AT_ONCE = 16
const MAX_STALL_MS = 50
/** Of HTTP/1, and of gRPC, whose headers the service writes out; between name and value there is a length. */
const STATUS = /(?:HTTP\/1\.1 |grpc-status.)(\d+)/gs
const GRPC_INVALID = "3"
const GRPC_INTERNAL = "13"
/** What RFC 9112 has for a transfer encoding that is not understood: no failure of ours. */
const ENCODING_UNKNOWN = "501"

let room: string
let service: ChildProcess
let addresses: Record<keyof typeof INPUTS, string>

beforeAll(async () => {
  process.stdout.write(`malformed inputs: SLUICE_SEED=${SEED}\n`)
  room = openRoom("malformed")
  const bundle = join(room, "everything.mjs")
  // The process is plain Node, so the service is made plain JavaScript first.
  await build({
    input: new URL("./fixtures/everything.ts", import.meta.url).pathname,
    platform: "node",
    resolve: { alias: sourceAliases() },
    output: { file: bundle, codeSplitting: false },
    logLevel: "silent",
  })
  service = fork(new URL("./fixtures/service-process.mjs", import.meta.url))
  setOccupant(room, service.pid)
  ;({ addresses } = await ask<{ addresses: typeof addresses }>({ bundle }))
}, 60_000)

afterAll(() => {
  service?.kill("SIGKILL")
  if (room !== undefined) closeRoom(room)
})

/** Where the library's sources are, by the names it is imported by. */
function sourceAliases(): Record<string, string> {
  const source = (file: string) => new URL(`../../packages/sluice/src/${file}`, import.meta.url).pathname
  return {
    "sluice/http": source("http.ts"),
    "sluice/internal/rules": source("rules/internal.ts"),
    "sluice/internal": source("internal.ts"),
    "sluice/redis": source("stores/redis/index.ts"),
    "sluice/rules": source("rules/index.ts"),
    sluice: source("index.ts"),
  }
}

async function ask<Reply>(message: object): Promise<Reply> {
  const ended = once(service, "exit").then(([code, signal]) => {
    throw new Error(`the service ended with ${signal ?? code}`)
  })
  service.send(message)
  const [reply] = await Promise.race([once(service, "message"), ended])
  return reply as Reply
}

/** How long a server may take to close the connection of a client that has sent everything. */
const LET_GO_WITHIN_MS = 5_000

interface Heard {
  readonly text: string
  /** The server did not close the connection. */
  readonly isHeld: boolean
}

/** Sends bytes, closes the connection, and returns the answer. */
function converse(port: number, input: Buffer): Promise<Heard> {
  return new Promise((resolve) => {
    const socket = connect(port, "127.0.0.1")
    let text = ""
    let isHeld = false
    socket.on("data", (data) => {
      if (text.length < 1_000_000) text += data.toString("latin1")
    })
    // A server may close the connection while malformed bytes are still being sent.
    socket.on("error", () => {})
    const timer = setTimeout(() => {
      isHeld = true
      socket.destroy()
    }, LET_GO_WITHIN_MS)
    socket.on("close", () => {
      clearTimeout(timer)
      resolve({ text, isHeld })
    })
    socket.end(input)
  })
}

describe.each(Object.keys(INPUTS) as (keyof typeof INPUTS)[])("the %s port", (name) => {
  const count = INPUTS[name] * RUNS

  it(
    `answers ${count} malformed inputs without a crash, a 5xx or a stall over ${MAX_STALL_MS} ms`,
    async () => {
      const port = portOf(addresses[name])
      const random = randomOf(SEED ^ name.length)
      const inputs = Array.from({ length: count }, () => generators[name](random))
      const bad: string[] = []
      const statuses = new Map<string, number>()
      let next = 0
      const worker = async (): Promise<void> => {
        for (let i = next++; i < count; i = next++) {
          const input = inputs[i] as Buffer
          const { text, isHeld } = await converse(port, input)
          if (isHeld) bad.push(`input ${i} holds its connection: ${shown(input)}`)
          for (const [, status = ""] of text.matchAll(STATUS)) {
            statuses.set(status, (statuses.get(status) ?? 0) + 1)
            if (status === ENCODING_UNKNOWN) continue
            if (status === GRPC_INTERNAL || status.startsWith("5"))
              bad.push(`input ${i}: ${input.toString("latin1").slice(0, 500)}\n→ ${text.slice(0, 500)}`)
          }
        }
      }
      await Promise.all(Array.from({ length: AT_ONCE }, worker))
      const { stallMs, errors } = await ask<{ stallMs: number; errors: string[] }>({})
      const counts = [...statuses].map(([status, times]) => `${status} × ${times}`).join(", ")
      process.stdout.write(`${name}: ${counts || "no status"}; longest stall ${stallMs.toFixed(1)} ms\n`)
      expect(bad.slice(0, 3)).toEqual([])
      expect(errors.slice(0, 3)).toEqual([])
      expect(stallMs).toBeLessThan(MAX_STALL_MS)
      // Many inputs were answered with an error message.
      if (name === "http" || name === "control") expect(statuses.get("400")).toBeGreaterThan(count / 10)
      if (name === "grpc") expect(statuses.get(GRPC_INVALID)).toBeGreaterThan(count / 100)
    },
    120_000 * RUNS,
  )

  it("still answers valid requests", async () => {
    const response = await fetch(`http://${addresses.http}/v1/check`, {
      method: "POST",
      body: '{"ip":"192.0.2.1"}',
    })
    expect(response.status).toBe(200)
    expect((await fetch(`http://${addresses.control}/livez`)).status).toBe(200)
  })
})

function shown(input: Buffer): string {
  return JSON.stringify(input.toString("latin1").slice(0, 500))
}
