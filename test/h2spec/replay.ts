import { once } from "node:events"
import { connect, type Socket } from "node:net"
import { FRAME } from "../../packages/server/src/http2/frame.js"
import { frame, RawClient } from "../../packages/server/src/http2/raw-client.test-support.js"
import type { Conversation } from "./conversation.js"
import { isLastPong, LAST_PING, reactionOf, received } from "./reaction.js"

/** Says what h2spec said, each part when as much has come as h2spec had seen then, and returns what the server says. */
export async function replay(
  { steps, reaction }: Pick<Conversation, "steps" | "reaction">,
  port: number,
  patienceMs = 10_000,
): Promise<string[]> {
  const socket = connect({ host: "127.0.0.1", port, noDelay: true })
  const client = new RawClient(socket)
  // A server that does not say what is waited for is cut off, and has said what it has said.
  const patience = setTimeout(() => socket.destroy(), patienceMs)
  try {
    await once(socket, "connect")
    for (const { afterFrames, afterData, bytes } of steps) {
      await until(client, () => {
        const { frames, data } = received(client)
        return frames >= afterFrames && data >= afterData
      })
      client.send(bytes)
    }
    if (reaction.at(-1) === "closed") await until(client, () => client.isClosed)
    else {
      client.send(frame(FRAME.PING, 0, 0, LAST_PING))
      await until(client, () => client.frames.some(isLastPong))
    }
    return reactionOf(client)
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
