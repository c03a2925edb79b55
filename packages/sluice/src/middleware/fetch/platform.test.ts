import { Hono } from "hono"
import { afterEach, describe, expect, it, vi } from "vitest"
import { rateLimit as honoRateLimit } from "../hono.js"
import { rateLimit } from "./fetch.js"
import { addressAdvice, platformAddress } from "./platform.js"

const once = { limit: 1, window: "1h", algorithm: "sliding-window-log" } as const
const HEADERS = ["cf-connecting-ip", "x-vercel-forwarded-for"]

afterEach(() => {
  vi.unstubAllGlobals()
  vi.unstubAllEnvs()
})

/** A request whose client has an address in every header that some platform sets. */
function from(ip: string, cf?: object): Request {
  const request = new Request("http://a.example/", { headers: HEADERS.map((name) => [name, ip]) })
  return cf === undefined ? request : Object.assign(request, { cf })
}

function onWorkers(): void {
  vi.stubGlobal("navigator", { userAgent: "Cloudflare-Workers" })
}

function onVercel(region = "iad1"): void {
  vi.stubEnv("VERCEL", "1")
  vi.stubEnv("VERCEL_REGION", region)
}

describe.each(["fetch", "hono"])("%s", (adapter) => {
  function open(warnings: string[]): (request: Request) => Promise<number> {
    const logger = { warn: (message: string) => void warnings.push(message) }
    if (adapter === "fetch") {
      const limit = rateLimit({ ...once, logger })
      return async (request) => (await limit(request)).response?.status ?? 200
    }
    const app = new Hono().use(honoRateLimit({ ...once, logger })).get("/", (c) => c.text("hello"))
    return async (request) => (await app.request(request)).status
  }

  async function statusesOf(
    requests: readonly Request[],
  ): Promise<{ statuses: number[]; warnings: string[] }> {
    const warnings: string[] = []
    const call = open(warnings)
    const statuses: number[] = []
    for (const request of requests) statuses.push(await call(request))
    return { statuses, warnings }
  }

  const three = (cf?: object) => ["203.0.113.1", "203.0.113.1", "203.0.113.2"].map((ip) => from(ip, cf))

  it("counts by the header that Cloudflare sets on Workers", async () => {
    onWorkers()
    expect(await statusesOf(three({}))).toEqual({ statuses: [200, 429, 200], warnings: [] })
  })

  it("counts by the header that Vercel sets on Vercel", async () => {
    onVercel()
    expect(await statusesOf(three())).toEqual({ statuses: [200, 429, 200], warnings: [] })
  })

  it.each([
    ["elsewhere", () => undefined],
    ["in a workerd that is not Cloudflare's", onWorkers],
    ["with a copy of Vercel's environment", () => onVercel("")],
  ])("believes no header %s, and warns once", async (_where, start) => {
    start()
    const { statuses, warnings } = await statusesOf(three())
    expect(statuses).toEqual([200, 429, 429])
    expect(warnings).toEqual([
      expect.stringMatching(/^rateLimit\.ip: .*give the option ip.*\[ADDRESS_UNKNOWN\]$/),
    ])
  })

  it("does not warn of a client that has left", async () => {
    const warnings: string[] = []
    const logger = { warn: (message: string) => void warnings.push(message) }
    const info = { incoming: { socket: {} } }
    if (adapter === "fetch") await rateLimit({ ...once, logger })(from(""), info)
    else await new Hono().use(honoRateLimit({ ...once, logger })).request("/", {}, info)
    expect(warnings).toEqual([])
  })
})

it("advises what the runtime has", () => {
  expect(addressAdvice({ Deno: {} })).toContain("Deno.serve")
  expect(addressAdvice({ Bun: {} })).toContain("Bun's server")
  expect(addressAdvice({})).toMatch(/^give the option ip/)
  expect(platformAddress({})).toBeUndefined()
})
