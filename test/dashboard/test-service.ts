// A real service for the tests of the dashboard, in this process and on free ports.

import { readFileSync } from "node:fs"
import { fileURLToPath } from "node:url"
import { parseRuleSet } from "sluice/rules"
import { type ConfigInput, configSchema } from "../../packages/server/src/config/schema.js"
import { type Service, startService } from "../../packages/server/src/service/service.js"
import { createLog } from "../../packages/server/src/telemetry/log.js"
import { type ReservedPort, reservePort } from "../support/ports.js"

export { buildServer as buildPage } from "../support/service-process.js"

export interface TestService {
  readonly service: Service
  /** The address of the dashboard. */
  readonly url: string
  /** Sends a request to the control plane. Throws if the answer is an error. */
  ask(method: string, path: string, body?: unknown): Promise<unknown>
  /** Checks a request through the check API, as clients do. */
  check(request: object, times?: number): Promise<void>
  /** Stops the service. `start` starts another one at the same address. */
  stop(): Promise<void>
  start(): Promise<void>
  close(): Promise<void>
}

export interface TestServiceOptions {
  /** A rule set in YAML. Default: the example rules of `npm start`. */
  readonly rules?: string
  readonly config?: ConfigInput
  /** The token that `ask` sends. */
  readonly token?: string
}

const EXAMPLE = fileURLToPath(new URL("../../packages/server/example-rules.yaml", import.meta.url))
export const EXAMPLE_RULES = readFileSync(EXAMPLE, "utf8")

export async function startTestService(options: TestServiceOptions = {}): Promise<TestService> {
  const port = await reservePort()
  let service = await startOn(port, options)
  const url = `http://127.0.0.1:${port.port}`
  const headers = {
    "content-type": "application/json",
    "if-match": "*",
    ...(options.token === undefined ? {} : { authorization: `Bearer ${options.token}` }),
  }
  return {
    get service() {
      return service
    },
    url,
    async ask(method, path, body) {
      const init = { method, headers, ...(body === undefined ? {} : { body: JSON.stringify(body) }) }
      const response = await fetch(url + path, init)
      const text = await response.text()
      if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${text}`)
      return text === "" ? undefined : JSON.parse(text)
    },
    async check(request, times = 1) {
      const checks = Array.from({ length: times }, () => request)
      const body = JSON.stringify({ checks })
      const response = await fetch(`http://${service.addresses.http}/v1/check/batch`, {
        method: "POST",
        body,
      })
      if (!response.ok) throw new Error(`check: ${response.status} ${await response.text()}`)
      await response.text()
    },
    stop: () => service.close(),
    async start() {
      service = await startOn(port, options)
    },
    async close() {
      await service.close()
      await port.release()
    },
  }
}

function startOn({ port }: ReservedPort, { rules, config = {} }: TestServiceOptions): Promise<Service> {
  const inline = rules === undefined ? {} : { rules: { inline: parseRuleSet(rules) as never } }
  return startService(
    configSchema.parse({
      http: { port: 0 },
      grpc: { enabled: false },
      // Browsers keep idle connections open, which would delay the end of the service.
      drain: { deadline: "100ms" },
      ...inline,
      ...config,
      control: { open: true, ...config.control, port },
    }),
    { log: createLog({ level: "silent" }) },
  )
}
