import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { type TestCore, testCore } from "../core.test-support.js"
import { type ControlPlaneOptions, createControlPlane } from "./plane.js"

type Listener = (event: { readonly type: string }) => void

/** A watch that tells what a test wants it to. */
export class TestWatch {
  readonly listeners = new Set<Listener>()

  metrics(): string {
    return "# TYPE sluice_up gauge\nsluice_up 1\n"
  }

  top({ by, limit }: { by: string; limit: number }): object[] {
    return [{ rule: "login", key: `ip:192.0.2.1 by ${by}`, count: 7, error: 0 }].slice(0, limit)
  }

  history(): object {
    return { from: 0, seconds: 0, requests: {}, durations: {}, rules: [] }
  }

  state() {
    return { startedAt: 1_767_225_600_000, workers: 1, store: { keys: 3, bytes: 96 } }
  }

  subscribe(listener: Listener): () => void {
    this.listeners.add(listener)
    return () => void this.listeners.delete(listener)
  }

  notify(event: { readonly type: string; readonly [field: string]: unknown }): void {
    for (const listener of this.listeners) listener(event)
  }
}

export interface Answer {
  readonly status: number
  readonly headers: Headers
  readonly text: string
  // biome-ignore lint/suspicious/noExplicitAny: what an answer holds is what the tests are about
  readonly json: any
}

export interface Init {
  readonly headers?: Readonly<Record<string, string>>
  /** Sent as JSON unless it is text. */
  readonly body?: unknown
  /** Default: whatever is in force. */
  readonly ifMatch?: string | undefined
}

export const RULES = `
version: 1
rules:
  - id: login
    match: { path: /login }
    keyBy: ip
    limits: [{ algorithm: fixed-window, limit: 2, window: 1m }]
  - id: api
    match: { path: /v1/** }
    keyBy: user
    limits: [{ limit: 100, window: 1m }]
`

/** The control plane over real HTTP. */
export async function startControl(
  options: Partial<ControlPlaneOptions> = {},
  core: TestCore = testCore(RULES),
) {
  const errors: unknown[] = []
  const watch = new TestWatch()
  const plane = createControlPlane(core, {
    watch,
    clock: core.clock,
    onError: (error) => errors.push(error),
    ...options,
  })
  const server = createServer(plane)
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
  const { port } = server.address() as AddressInfo
  const url = `http://127.0.0.1:${port}`
  return {
    core,
    watch,
    plane,
    url,
    port,
    /** What went wrong that was nobody's mistake. */
    errors,
    ask: (method: string, path: string, init: Init = {}) => ask(url + path, method, init),
    /** The etag of the rules in force. */
    etag: async () => (await ask(`${url}/rules`, "GET", {})).headers.get("etag") as string,
    async close() {
      plane.close()
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
      await core.close()
    },
  }
}

export type TestControl = Awaited<ReturnType<typeof startControl>>

async function ask(
  url: string,
  method: string,
  { headers = {}, body, ifMatch = "*" }: Init,
): Promise<Answer> {
  const isEdit = method !== "GET" && ifMatch !== ""
  const response = await fetch(url, {
    method,
    redirect: "manual",
    headers: {
      ...(body === undefined ? {} : { "content-type": "application/json" }),
      ...(isEdit ? { "if-match": ifMatch } : {}),
      ...headers,
    },
    ...(body === undefined ? {} : { body: typeof body === "string" ? body : JSON.stringify(body) }),
  })
  const text = await response.text()
  const isJson = response.headers.get("content-type")?.includes("json") === true
  return {
    status: response.status,
    headers: response.headers,
    text,
    json: isJson && text !== "" ? JSON.parse(text) : undefined,
  }
}
