// Every way in the corpus to write a path or to claim an address, through the gateway: the limit is met, and what the
// upstream gets is the path that the rules have seen.

import { describe, expect, it } from "vitest"
import { asRulesSeeIt, pathVariants } from "../../packages/sluice/src/request/corpus.test-support.js"
import { dial, openBackend, openGateway } from "./bed.js"

const used = (path: string) => `version: 1
rules: [{ id: once, match: { path: ${path} }, keyBy: global, limits: [{ limit: 1, window: 1h, algorithm: fixed-window }] }]`

/** Asks for many targets on one connection as long as it lasts, one after the other. */
async function statusesOf(
  port: number,
  targets: readonly string[],
): Promise<Map<string, number | undefined>> {
  const statuses = new Map<string, number | undefined>()
  let socket = await dial(port)
  for (const target of targets) {
    if (socket.destroyed || !socket.writable) socket = await dial(port)
    let text = ""
    const answered = new Promise<void>((resolve) => {
      const done = () => {
        socket.off("data", read)
        socket.off("close", done)
        resolve()
      }
      const read = (chunk: Buffer) => {
        text += chunk.toString("latin1")
        const head = text.indexOf("\r\n\r\n")
        const length = Number(/content-length: (\d+)/i.exec(text)?.[1] ?? 0)
        if (head >= 0 && text.length >= head + 4 + length) done()
      }
      socket.on("data", read).on("close", done)
    })
    socket.write(Buffer.from(`GET ${target} HTTP/1.1\r\nHost: a\r\n\r\n`, "latin1"))
    await answered
    // What closes after its answer must not be written to again.
    if (/connection: close/i.test(text)) socket.destroy()
    const status = /^HTTP\/1\.1 (\d{3})/.exec(text)?.[1]
    statuses.set(target, status === undefined ? undefined : Number(status))
  }
  return statuses
}

describe("a limit on a path", () => {
  it.each(["/login", "/v1/users"])(
    "applies to every spelling of %s, and none of them is forwarded",
    async (path) => {
      const backend = await openBackend()
      const gateway = await openGateway({ upstream: backend, rules: used(path) })
      expect((await fetch(gateway.url + path)).status).toBe(200)
      const variants = pathVariants(path)
      const statuses = await statusesOf(
        gateway.port,
        variants.map(({ target }) => target),
      )
      for (const { family, target, must } of variants) {
        const status = statuses.get(target)
        // A space in a target, or a line end, makes a request of it that is none.
        const expected = must === "match" ? [429] : [429, 400]
        expect.soft(expected, `${family}: ${JSON.stringify(target)}`).toContain(status)
      }
      expect(backend.seen).toEqual([`GET ${path}`])
    },
  )

  it("forwards the path that the rules matched, and the unchanged query", async () => {
    const backend = await openBackend()
    const gateway = await openGateway({ upstream: backend })
    const variants = pathVariants("/v1/users")
    const targets = variants.map(({ target }) => target)
    const statuses = await statusesOf(gateway.port, targets)
    const passed = targets.filter((target) => statuses.get(target) === 200)
    expect(backend.seen).toHaveLength(passed.length)
    expect(passed.length).toBeGreaterThan(100)
    passed.forEach((target, i) => {
      const seen = (backend.seen[i] as string).slice("GET ".length)
      const [path = "", ...query] = seen.split("?")
      expect.soft(asRulesSeeIt(path), target).toBe("/v1/users")
      expect.soft(path, target).not.toMatch(/\/\/|\/\.{1,2}(\/|$)|%2e|%2f|\\/i)
      expect
        .soft(query.join("?"), target)
        .toBe(target.includes("?") ? target.slice(target.indexOf("?") + 1) : "")
    })
  })
})

describe("a limit on an address", () => {
  const rules =
    "version: 1\nrules: [{ id: once, limits: [{ limit: 1, window: 1h, algorithm: fixed-window }] }]"
  const claims = [
    "X-Forwarded-For: 198.51.100.1",
    "X-Forwarded-For: 198.51.100.2, 198.51.100.3",
    "Forwarded: for=198.51.100.4",
    "X-Real-IP: 198.51.100.5",
    "True-Client-IP: 198.51.100.6",
    "CF-Connecting-IP: 198.51.100.7",
    "X-Client-IP: 198.51.100.8",
    "X-Forwarded-Host: elsewhere",
    "X-Original-URL: /other",
    "X-Rewrite-URL: /other",
    "X-HTTP-Method-Override: OPTIONS",
  ]

  it("is not evaded by a header that any client can send", async () => {
    const backend = await openBackend()
    const gateway = await openGateway({ upstream: backend, rules })
    expect((await fetch(gateway.url)).status).toBe(200)
    for (const claim of claims) {
      const [name = "", value = ""] = claim.split(": ")
      expect.soft((await fetch(gateway.url, { headers: { [name]: value } })).status, claim).toBe(429)
    }
  })

  it("counts the client that a trusted proxy names", async () => {
    const backend = await openBackend()
    const trusting = rules.replace("rules:", "identity: { trustedProxies: [loopback] }\nrules:")
    const gateway = await openGateway({ upstream: backend, rules: trusting })
    const statusFrom = async (address: string) =>
      (await fetch(gateway.url, { headers: { "x-forwarded-for": address } })).status
    expect(await statusFrom("198.51.100.1")).toBe(200)
    expect(await statusFrom("198.51.100.2")).toBe(200)
    expect(await statusFrom("203.0.113.9, 198.51.100.1")).toBe(429)
  })

  it("sends the upstream the address of the client, and not what the client claims", async () => {
    let headers: NodeJS.Dict<string | string[]> = {}
    const backend = await openBackend((request, response) => {
      ;({ headers } = request)
      response.end()
    })
    const gateway = await openGateway({ upstream: backend })
    await fetch(gateway.url, {
      headers: {
        "x-forwarded-for": "198.51.100.1",
        forwarded: "for=198.51.100.1",
        "x-forwarded-host": "elsewhere",
        "x-forwarded-proto": "https",
      },
    })
    expect(headers["x-forwarded-for"]).toBe("127.0.0.1")
    expect(headers["x-forwarded-proto"]).toBe("http")
    expect(JSON.stringify(headers)).not.toMatch(/198\.51|elsewhere/)
  })
})
