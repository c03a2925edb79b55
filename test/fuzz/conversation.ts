import { connect } from "node:net"
import { setTimeout as sleep } from "node:timers/promises"

export interface Heard {
  readonly status: number
  /** Numbers are left out: they differ with every decision. */
  readonly body: string
}

/** Sends the pieces on a connection of their own, and returns all that came back until the server hung up or was quiet. */
export function converse(
  port: number,
  pieces: readonly Buffer[],
  quietMs: number,
): Promise<readonly Heard[]> {
  return new Promise((resolve) => {
    const socket = connect(port, "127.0.0.1").setNoDelay(true)
    let text = ""
    let quiet: NodeJS.Timeout | undefined
    const wait = () => {
      clearTimeout(quiet)
      quiet = setTimeout(() => socket.destroy(), quietMs)
    }
    socket.on("data", (chunk) => {
      text += chunk.toString("latin1")
      wait()
    })
    socket.on("end", () => socket.end())
    // A server may close the connection while malformed bytes are still being sent.
    socket.on("error", () => {})
    socket.on("close", () => {
      clearTimeout(quiet)
      resolve(answersIn(text))
    })
    wait()
    void (async () => {
      for (const [i, piece] of pieces.entries()) {
        if (i > 0) await sleep(5)
        if (socket.destroyed) return
        socket.write(piece)
        wait()
      }
    })()
  })
}

/** Interim responses do not show what the server understood. */
function answersIn(text: string): Heard[] {
  return text
    .split(/(?=HTTP\/1\.1 \d{3} )/)
    .filter((answer) => answer.startsWith("HTTP/1.1 ") && !answer.startsWith("HTTP/1.1 1"))
    .map((answer) => ({
      status: Number(answer.slice(9, 12)),
      body: answer.slice(answer.indexOf("\r\n\r\n") + 4).replace(/\d+/g, "#"),
    }))
}
