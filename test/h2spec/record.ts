// Runs h2spec case by case through a proxy that records what both sides send.

import { execFile } from "node:child_process"
import { once } from "node:events"
import { type AddressInfo, connect, createServer, type Socket } from "node:net"
import { FRAME } from "../../packages/server/src/http2/frame.js"
import { frame, RawClient } from "../../packages/server/src/http2/raw-client.test-support.js"
import type { Conversation, Step } from "./conversation.js"
import { isLastPong, LAST_PING, reactionOf, received } from "./reaction.js"
import { replay, until } from "./replay.js"

/** Cases that are run at once: most of the time h2spec waits. */
const AT_ONCE = 4

interface Case {
  readonly id: string
  readonly title: string
}

export interface Recorded {
  readonly conversations: readonly Conversation[]
  /** A failure that h2spec reports, or a conversation that does not replay to the same outcome. */
  readonly leftOut: readonly string[]
}

export async function record(h2spec: string, server: string, port: number): Promise<Recorded> {
  const cases = await casesOf(h2spec)
  const found = new Map<Case, Conversation | string>()
  const queue = [...cases]
  const work = async (): Promise<void> => {
    for (let next = queue.shift(); next !== undefined; next = queue.shift())
      found.set(next, await recordCase(h2spec, server, port, next))
  }
  await Promise.all(Array.from({ length: AT_ONCE }, work))
  const conversations: Conversation[] = []
  const leftOut: string[] = []
  for (const one of cases) {
    const conversation = found.get(one) as Conversation | string
    if (typeof conversation === "string") leftOut.push(`${server} ${one.id} ${one.title}: ${conversation}`)
    else conversations.push(conversation)
  }
  return { conversations, leftOut }
}

/** Every case, by what `--dryrun` prints: the groups by indentation, with their section, and below them numbers. */
async function casesOf(h2spec: string): Promise<Case[]> {
  const cases: Case[] = []
  let group = ""
  let section = ""
  for (const line of (await run(h2spec, ["--strict", "--dryrun"])).split("\n")) {
    const [, number, title = ""] = /^\s+(\d+): (.*)$/.exec(line) ?? []
    if (number !== undefined) cases.push({ id: `${group}/${section}/${number}`, title })
    else if (line.startsWith("Generic")) group = "generic"
    else if (line.startsWith("Hypertext")) group = "http2"
    else if (line.startsWith("HPACK")) group = "hpack"
    else section = /^\s+([\d.]+)\. /.exec(line)?.[1] ?? section
  }
  return cases
}

async function recordCase(h2spec: string, server: string, port: number, one: Case) {
  const proxy = await startRecorder(port)
  try {
    const printed = await run(h2spec, ["--strict", "--port", String(proxy.port), one.id])
    if (!printed.includes("1 tests, 1 passed")) return printed.trim().replaceAll(/\s+/g, " ")
    // Where there are two connections, h2spec finds out on the first how long an answer is.
    const said = (await proxy.ended()).at(-1)
    if (said === undefined) return "no connection"
    const conversation = { server, ...one, ...said }
    // A replay writes in one piece what h2spec may have written in several.
    for (const again of await Promise.all([1, 2, 3, 4, 5].map(() => replay(conversation, port))))
      if (String(again) !== String(said.reaction)) return `once ${said.reaction}, once ${again}`
    return conversation
  } finally {
    await proxy.close()
  }
}

type Said = Pick<Conversation, "steps" | "reaction">

async function startRecorder(port: number) {
  const said: Promise<Said>[] = []
  const proxy = createServer((client) => {
    const upstream = connect({ host: "127.0.0.1", port, noDelay: true })
    said.push(listen(client, upstream))
  })
  proxy.listen(0, "127.0.0.1")
  await once(proxy, "listening")
  return {
    port: (proxy.address() as AddressInfo).port,
    ended: async () => (await Promise.all(said)).filter(({ steps }) => steps.length > 0),
    close: () => new Promise<void>((resolve) => proxy.close(() => resolve())),
  }
}

/** Relays both directions until h2spec disconnects, and then waits for the rest from the server. */
async function listen(client: Socket, upstream: Socket): Promise<Said> {
  client.setNoDelay(true)
  client.on("error", () => {})
  const server = new RawClient(upstream)
  const steps: Step[] = []
  client.on("data", (bytes: Buffer) => {
    const { frames: afterFrames, data: afterData } = received(server)
    const last = steps.at(-1)
    if (last?.afterFrames === afterFrames && last.afterData === afterData)
      steps.splice(-1, 1, { ...last, bytes: Buffer.concat([last.bytes, bytes]) })
    else steps.push({ afterFrames, afterData, bytes })
    upstream.write(bytes)
  })
  upstream.on("data", (bytes) => client.write(bytes))
  upstream.on("close", () => client.end())
  await new Promise((resolve) => client.once("close", resolve))
  if (steps.length > 0 && !server.isClosed) {
    // A server that is about to disconnect does so before it reads on.
    await Promise.race([until(server, () => false), new Promise((resolve) => setTimeout(resolve, 300))])
    if (!server.isClosed) server.send(frame(FRAME.PING, 0, 0, LAST_PING))
    await until(server, () => server.frames.some(isLastPong))
  }
  const reaction = reactionOf(server, server.isClosed ? "closed" : "open")
  upstream.destroy()
  return { steps, reaction }
}

function run(h2spec: string, args: readonly string[]): Promise<string> {
  // It exits with 1 after a failure, and prints it.
  return new Promise((resolve) => {
    execFile(h2spec, args, (_, stdout, stderr) => resolve(`${stdout}${stderr}`))
  })
}
