// Attacks that take time: what counts is how the process is meanwhile.

import { once } from "node:events"
import { connect } from "node:net"
import { setTimeout as sleep } from "node:timers/promises"
import { ANSWER_TIMEOUT_MS, type Targets } from "./targets.js"

export interface Scenario {
  readonly name: string
  /** The problem, or undefined. */
  run(targets: Targets): Promise<string[]>
}

const HOST = "127.0.0.1"

export const scenarios: readonly Scenario[] = [
  { name: "2 KB of YAML aliases", run: ({ control }) => aliases(control, 2_048) },
  { name: "256 KB of YAML aliases", run: ({ control }) => aliases(control, 262_144) },
  {
    name: "a client that never reads",
    run: ({ benches }) => neverReads(benches[0]?.service as number),
  },
  {
    name: "a slow upload to the service",
    run: ({ benches }) => slowUpload(benches[0]?.service as number),
  },
  {
    name: "a slow upload to the gateway",
    run: ({ benches }) => slowUpload(benches[0]?.gateway as number),
  },
]

async function aliases(port: number, bytes: number): Promise<string[]> {
  const body = `a: &a [${"{},".repeat((bytes - 900) / 3)}{}]\nversion: 1\nrules: [${"*a,".repeat(98)}*a]\n`
  const response = await fetch(`http://${HOST}:${port}/rules/validate`, {
    method: "POST",
    headers: { "content-type": "application/yaml" },
    body,
  })
  const { valid } = (await response.json()) as { valid?: boolean }
  return response.status === 200 && valid === false ? [] : [`answered ${response.status}, valid: ${valid}`]
}

/** Requests explanations without reading one. The service must close the connection in time. */
async function neverReads(port: number): Promise<string[]> {
  const body = '{"path":"/a"}'
  const request = `POST /v1/explain HTTP/1.1\r\nHost: a\r\nContent-Length: ${body.length}\r\n\r\n${body}`
  const socket = connect(port, HOST)
  socket.on("error", () => {})
  await once(socket, "connect")
  const started = performance.now()
  const block = Buffer.from(request.repeat(500))
  // What the system takes, a few megabytes, has to be answered first; on a busy machine that takes a while.
  while (!socket.destroyed && performance.now() - started < 2 * ANSWER_TIMEOUT_MS + 60_000) {
    // A client that is not listened to any more has nothing to send.
    if (socket.writableLength < 1_048_576) socket.write(block)
    else socket.write("")
    await sleep(20)
  }
  const isCut = socket.destroyed
  socket.destroy()
  return isCut ? [] : ["the connection is kept"]
}

/** A byte now and then. Others are answered meanwhile. */
async function slowUpload(port: number): Promise<string[]> {
  const socket = connect(port, HOST)
  socket.on("error", () => {})
  await once(socket, "connect")
  socket.write("POST /v1/check HTTP/1.1\r\nHost: a\r\nContent-Length: 1000\r\n\r\n")
  const wrong: string[] = []
  for (let i = 0; i < 10; i++) {
    socket.write("x")
    const { status } = await fetch(`http://${HOST}:${port}/livez`)
    if (status !== 200) wrong.push(`others are answered ${status}`)
    await sleep(20)
  }
  socket.destroy()
  return wrong
}
