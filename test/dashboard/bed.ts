// A real service for the dashboard: in this process, on free ports, with the page as it is built now.

import { readFileSync } from "node:fs"
import { fileURLToPath } from "node:url"
import { parseRuleSet } from "sluice/rules"
import { type ConfigInput, configSchema } from "../../packages/server/src/config/schema.js"
import { type Service, startService } from "../../packages/server/src/service/service.js"
import { createLog } from "../../packages/server/src/telemetry/index.js"
import { type ReservedPort, reservePort } from "../support/ports.js"

export { buildServer as buildPage } from "../support/service-process.js"

export interface Bed {
  readonly service: Service
  /** Of the dashboard. */
  readonly url: string
  /** Asks the control plane. Throws when the answer is no success. */
  ask(method: string, path: string, body?: unknown): Promise<unknown>
  /** Makes requests as clients would, through the check API. */
  check(request: object, times?: number): Promise<void>
  /** Ends the service; `start` brings another one to the same address. */
  stop(): Promise<void>
  start(): Promise<void>
  close(): Promise<void>
}

export interface BedOptions {
  /** A rule set in YAML. Default: the example rules, as on a first `npm start`. */
  readonly rules?: string
  readonly config?: ConfigInput
  /** Sent with `ask`, when the service has tokens. */
  readonly token?: string
}

const EXAMPLE = fileURLToPath(new URL("../../packages/server/example-rules.yaml", import.meta.url))
export const EXAMPLE_RULES = readFileSync(EXAMPLE, "utf8")

export async function startBed(options: BedOptions = {}): Promise<Bed> {
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

function startOn({ port }: ReservedPort, { rules, config = {} }: BedOptions): Promise<Service> {
  const inline = rules === undefined ? {} : { rules: { inline: parseRuleSet(rules) as never } }
  return startService(
    configSchema.parse({
      http: { port: 0 },
      grpc: { enabled: false },
      // A browser holds connections that it has asked nothing on.
      drain: { deadline: "100ms" },
      ...inline,
      ...config,
      control: { open: true, ...config.control, port },
    }),
    { log: createLog({ level: "silent" }) },
  )
}
