import { once } from "node:events"
import { connect, type Socket } from "node:net"
import { FRAME } from "../../packages/server/src/http2/frame.js"
import { frame, RawClient } from "../../packages/server/src/http2/raw-client.test-support.js"
import type { Conversation, Step } from "./conversation.js"
import { isLastPong, LAST_PING, reactionOf, received } from "./reaction.js"

const PATIENCE_MS = 10_000

/** Sends what h2spec sent, each part after as much has arrived as h2spec had received, and returns the reaction of the server. */
export async function replay(
  { steps, reaction }: Pick<Conversation, "steps" | "reaction">,
  port: number,
): Promise<string[]> {
  const { client, end } = await say(steps, port, { untilClosed: reaction.at(-1) === "closed" })
  return reactionOf(client, end)
}

export interface SayOptions {
  /** Whether the server disconnects at the end. Otherwise a PING shows that it has sent everything. */
  readonly untilClosed?: boolean
  /** Called when a step is due, before it is sent. */
  readonly before?: (step: number) => void
}

export interface Said {
  /** The client, with everything that the server has sent. */
  readonly client: RawClient
  readonly end: "open" | "closed" | "waited in vain"
}

export async function say(
  steps: readonly Step[],
  port: number,
  { untilClosed = false, before = () => {} }: SayOptions = {},
): Promise<Said> {
  const socket = connect({ host: "127.0.0.1", port, noDelay: true })
  const client = new RawClient(socket)
  let isLate = false
  const patience = setTimeout(() => {
    isLate = true
    socket.destroy()
  }, PATIENCE_MS)
  try {
    await once(socket, "connect")
    for (const [i, { afterFrames, afterData, bytes }] of steps.entries()) {
      await until(client, () => {
        const { frames, data } = received(client)
        return frames >= afterFrames && data >= afterData
      })
      before(i)
      client.send(bytes)
    }
    if (untilClosed) await until(client, () => client.isClosed)
    else {
      client.send(frame(FRAME.PING, 0, 0, LAST_PING))
      await until(client, () => client.frames.some(isLastPong))
    }
    return { client, end: isLate ? "waited in vain" : client.isClosed ? "closed" : "open" }
  } finally {
    clearTimeout(patience)
    socket.destroy()
  }
}

/** Waits until it is so, or the connection has ended. */
export async function until(client: RawClient, isSo: () => boolean): Promise<void> {
  while (!isSo() && !client.isClosed) await news(client.socket)
}

function news(socket: Socket): Promise<void> {
  return new Promise((resolve) => {
    const told = () => {
      socket.off("data", told).off("close", told)
      resolve()
    }
    socket.on("data", told).on("close", told)
  })
}
