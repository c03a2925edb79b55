import { once } from "node:events"
import { createServer, type RequestListener, type Server } from "node:http"
import { createServer as createHttpsServer } from "node:https"
import type { AddressInfo } from "node:net"
import { afterEach, describe, expect, it } from "vitest"
import { makeCertificate } from "../../../../../test/support/certificate.js"
import { eventually } from "../../../../../test/support/eventually.js"
import { HealthCheck, probe } from "./health-check.js"

const closers: (() => void)[] = []

afterEach(() => {
  for (const close of closers.splice(0)) close()
})

async function listening(server: Server): Promise<string> {
  server.listen(0, "127.0.0.1")
  await once(server, "listening")
  closers.push(() => {
    server.close()
    server.closeAllConnections()
  })
  return `127.0.0.1:${(server.address() as AddressInfo).port}`
}

async function serve(app: RequestListener): Promise<string> {
  return `http://${await listening(createServer(app))}`
}

describe("a health check", () => {
  /** Answers of a target as the test sets them; how often it was asked; what was told. */
  function checked(answers: { now: string | undefined }) {
    const target = { origin: "http://a", isHealthy: true }
    const told: [boolean, string | undefined][] = []
    let asked = 0
    const check = new HealthCheck(
      target,
      async () => {
        asked++
        return answers.now
      },
      { intervalMs: 1, unhealthyAfter: 3, healthyAfter: 2 },
      ({ isHealthy }, reason) => void told.push([isHealthy, reason]),
    )
    closers.push(() => check.stop())
    const times = (count: number) => {
      const from = asked
      return eventually(() => asked >= from + count)
    }
    return { target, told, check, times, asked: () => asked }
  }

  it("applies the result of the first probe at once", async () => {
    const { target, told, check } = checked({ now: "answered 500" })
    await check.start()
    expect(target.isHealthy).toBe(false)
    expect(told).toEqual([[false, "answered 500"]])
  })

  it("changes the health after several results in a row, and reports it once", async () => {
    const answers: { now: string | undefined } = { now: undefined }
    const { target, told, check, times } = checked(answers)
    await check.start()
    answers.now = "refused"
    await eventually(() => !target.isHealthy)
    await times(5)
    expect(told).toEqual([[false, "refused"]])
    answers.now = undefined
    await eventually(() => target.isHealthy)
    await times(5)
    expect(told).toEqual([
      [false, "refused"],
      [true, undefined],
    ])
  })

  it("does not change the health when the results alternate", async () => {
    const target = { origin: "http://a", isHealthy: true }
    let asked = 0
    const check = new HealthCheck(
      target,
      // Two bad answers of three, never three in a row.
      async () => (asked++ % 3 === 0 ? undefined : "refused"),
      { intervalMs: 1, unhealthyAfter: 3, healthyAfter: 1 },
    )
    closers.push(() => check.stop())
    await check.start()
    await eventually(() => asked > 20)
    expect(target.isHealthy).toBe(true)
  })

  it("sends no probe after it is stopped", async () => {
    const { check, times, asked } = checked({ now: undefined })
    await check.start()
    await times(2)
    check.stop()
    const before = asked()
    const other = checked({ now: undefined })
    await other.check.start()
    await other.times(10)
    expect(asked()).toBe(before)
  })
})

describe("a probe", () => {
  it.each([
    [200, undefined],
    [302, undefined],
    [404, "answered 404"],
    [503, "answered 503"],
  ])("of a target that answers %i says %s", async (status, said) => {
    const origin = await serve((_request, response) => response.writeHead(status).end())
    expect(await probe(origin, { path: "/", timeoutMs: 5_000 })).toBe(said)
  })

  it("requests the configured path and names itself", async () => {
    const seen: unknown[] = []
    const origin = await serve(({ method, url, headers }, response) => {
      seen.push([method, url, headers["user-agent"]])
      response.end()
    })
    await probe(origin, { path: "/health?full=1", timeoutMs: 5_000 })
    expect(seen).toEqual([["GET", "/health?full=1", "sluice-health"]])
  })

  it("fails within the timeout when the target does not answer", async () => {
    const origin = await serve(() => {})
    expect(await probe(origin, { path: "/", timeoutMs: 20 })).toBe("no answer within 20 ms")
  })

  it("reports why a target cannot be reached", async () => {
    const server = createServer()
    const address = await listening(server)
    server.close()
    await once(server, "close")
    expect(await probe(`http://${address}`, { path: "/", timeoutMs: 5_000 })).toContain("ECONNREFUSED")
  })

  it("verifies the certificate of an https target", async () => {
    const certificate = makeCertificate(["upstream.test"])
    const address = await listening(
      createHttpsServer(certificate, (_request, response) => void response.end()) as unknown as Server,
    )
    const ask = (tls: object) => probe(`https://${address}`, { path: "/", timeoutMs: 5_000, tls })
    const ca = certificate.cert
    expect(await ask({ ca, serverName: "upstream.test" })).toBeUndefined()
    expect(await ask({ serverName: "upstream.test" })).toMatch(/self-signed/)
    expect(await ask({ ca })).toMatch(/does not match certificate's altnames/)
  })
})
