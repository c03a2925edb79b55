import type { TestCore } from "../core.test-support.js"
import { type CheckApiOptions, createCheckApi } from "./check-api.js"
import { listenForChecks } from "./listen.js"

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

/** The check API over real HTTP, with everything that went wrong in it at hand. */
export async function startPlane(core: TestCore, options: CheckApiOptions = {}): Promise<TestPlane> {
  const errors: unknown[] = []
  const handler = createCheckApi(core, { onError: (error) => errors.push(error), ...options })
  const listener = await listenForChecks({ host: "127.0.0.1", port: 0, handler })
  const url = `http://${listener.address}`
  return {
    core,
    url,
    errors,
    post: (path, body) =>
      ask(url + path, { method: "POST", body: typeof body === "string" ? body : JSON.stringify(body) }),
    get: (path, headers = {}, method = "GET") => ask(url + path, { method, headers }),
    async close() {
      await listener.close(0)
      await core.close()
    },
  }
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
