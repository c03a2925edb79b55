// What every proxy in front of an application must do, whichever it is.

import { afterEach, beforeEach, describe, expect, it } from "vitest"
import { type Bed, startBed } from "./bed.js"
import { type Application, ask, type ProxyProcess, startApplication } from "./proxy.js"

const RULES = `
version: 1
identity: { trustedProxies: [loopback] }
rules:
  - id: login
    match: { method: POST, path: /login }
    keyBy: ip
    limits: [{ algorithm: sliding-window-log, limit: 2, window: 10s }]
  - id: host
    match: { host: limited.example.com }
    keyBy: global
    limits: [{ algorithm: sliding-window-log, limit: 1, window: 10s }]
`

export interface ProxiedSuite {
  readonly name: string
  /** Whether the headers of a decision are on the application's answers too. */
  readonly copiesHeaders: boolean
  start(ports: { readonly sluice: number; readonly application: number }): Promise<ProxyProcess>
}

export function describeProxied({ name, copiesHeaders, start }: ProxiedSuite): void {
  describe(name, () => {
    let bed: Bed
    let application: Application
    let proxy: ProxyProcess

    beforeEach(async () => {
      bed = await startBed(RULES)
      application = await startApplication()
      proxy = await start({ sluice: bed.port, application: application.port })
    }, 60_000)

    afterEach(async () => {
      await proxy?.stop()
      await application?.close()
      await bed?.close()
    })

    const login = (headers: Record<string, string> = {}) =>
      ask(proxy.port, { method: "POST", path: "/login", headers, body: "user=ann" })

    it("forwards requests with their bodies up to the limit, and answers 429 above it", async () => {
      for (let i = 0; i < 2; i++) {
        const { status, headers, body } = await login()
        expect([status, body]).toEqual([200, "from the application"])
        if (copiesHeaders) expect(headers["x-ratelimit-remaining"]).toBe(String(1 - i))
      }
      const denied = await login()
      expect(denied.status).toBe(429)
      expect(denied.headers["retry-after"]).toBe("10")
      expect(denied.headers["x-ratelimit-limit"]).toBe("2")
      expect(denied.headers["content-type"]).toContain("problem+json")
      const posted = application.seen.filter(({ method }) => method === "POST")
      expect(posted).toEqual([
        { method: "POST", url: "/login", body: "user=ann" },
        { method: "POST", url: "/login", body: "user=ann" },
      ])
      bed.clock.advance(10_000)
      expect((await login()).status).toBe(200)
    })

    it("checks the request as the client sent it: method, host, path, query and address", async () => {
      await ask(proxy.port, {
        method: "PUT",
        path: "/a%20b?x=1&deny=y",
        headers: { host: "limited.example.com" },
      })
      const { request, decision } = bed.decided.at(-1) ?? {}
      expect(request).toMatchObject({ method: "PUT", path: "/a%20b?x=1&deny=y" })
      expect(decision?.rule).toBe("host")
      await login()
      expect(bed.decided.at(-1)?.decision.rules[0]?.key).toBe("ip:127.0.0.1")
    })

    it("ignores headers of a client that claim another address, path or method", async () => {
      const forged = [
        { "x-forwarded-for": "203.0.113.1" },
        { "x-forwarded-uri": "/free" },
        { "x-forwarded-method": "GET" },
        { "x-original-uri": "/free" },
        { "x-original-method": "GET" },
        { "x-forwarded-host": "elsewhere.example.com" },
        { forwarded: "for=203.0.113.1" },
      ]
      await login()
      await login()
      const before = application.seen.length
      for (const headers of forged) {
        // 400 if the proxy forwards both headers, because the service cannot know which one the client sent.
        const { status } = await login(headers)
        expect([headers, status === 429 || status === 400]).toEqual([headers, true])
      }
      expect(application.seen.length).toBe(before)
    })

    it("denies a path that the application may read differently", async () => {
      const before = application.seen.length
      for (const path of ["/free/../login", "/free/%2e%2e/login", "/%6cogin%2f"]) {
        const { status } = await ask(proxy.port, { method: "POST", path })
        expect([path, status >= 400 && status < 500]).toEqual([path, true])
      }
      expect(application.seen.length).toBe(before)
    })

    it("keeps the application's own answers, and shows no limit where none applies", async () => {
      const { status, body, headers } = await ask(proxy.port, { path: "/forbidden" })
      expect([status, body]).toEqual([403, "from the application"])
      expect(Object.keys(headers).filter((header) => header.includes("ratelimit"))).toEqual([])
    })
  })
}
