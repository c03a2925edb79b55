import { once } from "node:events"
import { Agent, type IncomingMessage, request } from "node:http"
import { text } from "node:stream/consumers"

export interface Answer {
  readonly status: number
  readonly body: string
  /** Whether the server announced with `Connection: close` that it closes the connection. */
  readonly isLast: boolean
}

/** A client with one keep-alive connection. */
export interface Connection {
  post(path: string, body: string): Promise<Answer>
  close(): void
}

export function connectionsTo(url: string, count: number): Connection[] {
  return Array.from({ length: count }, () => {
    const agent = new Agent({ keepAlive: true, maxSockets: 1 })
    return {
      async post(path, body) {
        const call = request(url + path, { agent, method: "POST" })
        call.end(body)
        const [response] = (await once(call, "response")) as [IncomingMessage]
        return {
          status: response.statusCode ?? 0,
          body: await text(response),
          isLast: response.headers.connection === "close",
        }
      },
      close: () => agent.destroy(),
    }
  })
}
