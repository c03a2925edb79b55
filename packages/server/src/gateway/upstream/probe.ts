import { request as requestHttp } from "node:http"
import { request as requestHttps } from "node:https"
import type { UpstreamTls } from "./upstream-tls.js"

export interface ProbeOptions {
  readonly path: string
  readonly timeoutMs: number
  readonly tls?: UpstreamTls | undefined
}

/** Asks a target how it is, on a connection of its own. Undefined when it is well, otherwise why it is not. Never throws. */
export function probe(origin: string, options: ProbeOptions): Promise<string | undefined> {
  const { path, timeoutMs, tls } = options
  const url = new URL(path, origin)
  const request = url.protocol === "https:" ? requestHttps : requestHttp
  return new Promise((resolve) => {
    const asked = request(url, {
      agent: false,
      // Whatever the process was started with.
      rejectUnauthorized: true,
      headers: { "user-agent": "sluice-health", connection: "close" },
      ...(tls?.ca === undefined ? {} : { ca: tls.ca }),
      ...(tls?.serverName === undefined ? {} : { servername: tls.serverName }),
    })
    // Over the whole: a target that sends its head byte by byte is not well.
    const late = setTimeout(() => asked.destroy(new Error(`no answer within ${timeoutMs} ms`)), timeoutMs)
    const done = (reason?: string) => {
      clearTimeout(late)
      resolve(reason)
      asked.destroy()
    }
    asked.on("response", ({ statusCode = 0 }) =>
      done(statusCode >= 200 && statusCode < 400 ? undefined : `answered ${statusCode}`),
    )
    asked.on("upgrade", () => done("answered 101"))
    asked.on("error", (error) => done(error.message))
    asked.end()
  })
}
