import { createServer, type Server } from "node:http"
import type { AddressInfo } from "node:net"
import type { TestCore } from "../core.test-support.js"
import { createDataPlane, type DataPlaneOptions } from "./plane.js"

export interface TestPlane {
  readonly core: TestCore
  readonly url: string
  readonly errors: readonly unknown[]
  post(path: string, body: unknown): Promise<Answer>
  get(path: string, headers?: Record<string, string>, method?: string): Promise<Answer>
  close(): Promise<void>
}

export interface Answer {
  readonly status: number
  readonly headers: Headers
  readonly text: string
  // biome-ignore lint/suspicious/noExplicitAny: what an answer holds is what the tests are about
  readonly json: any
}

/** The data plane over real HTTP, with everything that went wrong in it at hand. */
export async function startPlane(core: TestCore, options: DataPlaneOptions = {}): Promise<TestPlane> {
  const errors: unknown[] = []
  const server = createServer(createDataPlane(core, { onError: (error) => errors.push(error), ...options }))
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  return {
    core,
    url,
    errors,
    post: (path, body) =>
      ask(url + path, { method: "POST", body: typeof body === "string" ? body : JSON.stringify(body) }),
    get: (path, headers = {}, method = "GET") => ask(url + path, { method, headers }),
    async close() {
      await closeServer(server)
      await core.close()
    },
  }
}

function closeServer(server: Server): Promise<void> {
  return new Promise((resolve) => {
    server.close(() => resolve())
    server.closeAllConnections()
  })
}

async function ask(url: string, init: RequestInit): Promise<Answer> {
  const response = await fetch(url, init)
  const text = await response.text()
  const isJson = response.headers.get("content-type")?.includes("json") === true
  return {
    status: response.status,
    headers: response.headers,
    text,
    json: isJson && text !== "" ? JSON.parse(text) : undefined,
  }
}
