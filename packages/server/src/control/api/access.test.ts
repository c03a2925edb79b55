import { request } from "node:http"
import { afterEach, describe, expect, it } from "vitest"
import { hashToken, newToken } from "../../http/tokens.js"
import { startControl, type TestControl } from "../control-plane.test-support.js"

const reader = newToken()
const editor = newToken()
const admin = newToken()
const tokens = [
  { name: "rita", role: "reader", token: reader },
  { name: "ed", role: "editor", hash: hashToken(editor) },
  { name: "ada", role: "admin", token: admin },
] as const

const controls: TestControl[] = []

async function start(options: Parameters<typeof startControl>[0] = {}): Promise<TestControl> {
  const control = await startControl(options)
  controls.push(control)
  return control
}

afterEach(async () => {
  await Promise.all(controls.splice(0).map((control) => control.close()))
})

const bearer = (token: string) => ({ headers: { authorization: `Bearer ${token}` } })

/** A request with headers that fetch would not let us set. */
function statusOf(control: TestControl, headers: Record<string, string>, path = "/rules"): Promise<number> {
  return new Promise((resolve, reject) => {
    request({ host: "127.0.0.1", port: control.port, path, headers }, (response) => {
      response.resume()
      resolve(response.statusCode ?? 0)
    })
      .on("error", reject)
      .end()
  })
}

describe("with tokens", () => {
  it("answers 401 without a token, with a hint how to send one", async () => {
    const control = await start({ tokens })
    const { status, headers, json } = await control.ask("GET", "/rules")
    expect([status, json.code]).toEqual([401, "TOKEN_REQUIRED"])
    expect(headers.get("www-authenticate")).toBe('Bearer realm="sluice"')
  })

  it.each(["/rules", "/top", "/metrics", "/version", "/audit", "/keys/login/a", "/events", "/overrides"])(
    "does not show %s without a token",
    async (path) => {
      const control = await start({ tokens })
      expect((await control.ask("GET", path)).status).toBe(401)
    },
  )

  it.each(["/livez", "/readyz", "/docs", "/docs/style.css", "/openapi.json"])(
    "shows %s without a token",
    async (path) => {
      const control = await start({ tokens })
      expect((await control.ask("GET", path)).status).toBe(200)
    },
  )

  it.each([
    ["GET", "/rules", [200, 200, 200]],
    ["GET", "/metrics", [200, 200, 200]],
    ["DELETE", "/rules/login", [403, 204, 404]],
    ["POST", "/keys/login/a/reset", [403, 200, 200]],
    ["GET", "/audit", [403, 403, 200]],
  ])("allows %s %s by role: reader, editor, admin → %j", async (method, path, statuses) => {
    const control = await start({ tokens })
    for (const [i, token] of [reader, editor, admin].entries())
      expect((await control.ask(method, path, bearer(token))).status).toBe(statuses[i])
  })

  it("names the role that a request needs", async () => {
    const control = await start({ tokens })
    const { json } = await control.ask("DELETE", "/rules/login", bearer(reader))
    expect(json).toMatchObject({ code: "ROLE_REQUIRED", detail: expect.stringContaining("must be editor") })
  })

  it("writes the name of the token into the history", async () => {
    const control = await start({ tokens })
    await control.ask("DELETE", "/rules/login", bearer(editor))
    expect(control.core.rules.current.changedBy).toBe("ed")
  })

  it("never shows a token that was wrong", async () => {
    const control = await start({ tokens })
    const wrong = newToken()
    for (const authorization of [`Bearer ${wrong}`, `Basic ${wrong}`, wrong]) {
      const { status, text } = await control.ask("GET", "/rules", { headers: { authorization } })
      expect(status).toBe(401)
      expect(text).not.toContain(wrong)
    }
  })

  it("accepts any Host header, because no browser sends the token by itself", async () => {
    const control = await start({ tokens })
    expect(await statusOf(control, { ...bearer(reader).headers, host: "control.example.com" })).toBe(200)
  })
})

describe("wrong tokens", () => {
  it("are limited per address: after ten in a minute even a right token is refused", async () => {
    const control = await start({ tokens })
    for (let i = 0; i < 10; i++) {
      expect((await control.ask("GET", "/rules", bearer(newToken()))).status).toBe(401)
      control.core.clock.advance(1_000)
    }
    const wrong = await control.ask("GET", "/rules", bearer(newToken()))
    expect([wrong.status, wrong.json.code, wrong.headers.get("retry-after")]).toEqual([
      429,
      "LOGIN_LIMITED",
      "50",
    ])
    expect((await control.ask("GET", "/rules", bearer(admin))).status).toBe(429)
    control.core.clock.advance(49_999)
    expect((await control.ask("GET", "/rules", bearer(admin))).status).toBe(429)
    control.core.clock.advance(1)
    expect((await control.ask("GET", "/rules", bearer(admin))).status).toBe(200)
  })

  it("are counted, but neither right tokens nor requests without a token", async () => {
    const control = await start({ tokens })
    for (let i = 0; i < 20; i++) {
      expect((await control.ask("GET", "/rules")).status).toBe(401)
      expect((await control.ask("GET", "/rules", bearer(reader))).status).toBe(200)
    }
  })

  it("do not block requests that need no token", async () => {
    const control = await start({ tokens })
    for (let i = 0; i < 11; i++) await control.ask("GET", "/rules", bearer(newToken()))
    expect((await control.ask("GET", "/livez", bearer(newToken()))).status).toBe(200)
  })
})

describe("without tokens", () => {
  it("accepts requests from this machine, if Host is a name of this machine", async () => {
    const control = await start()
    for (const host of [`localhost:${control.port}`, "127.0.0.1", `[::1]:${control.port}`])
      expect(await statusOf(control, { host })).toBe(200)
    // A site whose name resolves to 127.0.0.1 has its page ask us.
    for (const host of ["evil.example", `evil.example:${control.port}`, "127.0.0.1.evil.example"])
      expect(await statusOf(control, { host })).toBe(403)
  })

  it("refuses requests that a proxy on this machine forwards for others", async () => {
    const control = await start()
    expect(await statusOf(control, { "x-forwarded-for": "203.0.113.7" })).toBe(403)
    expect(await statusOf(control, { forwarded: "for=203.0.113.7" })).toBe(403)
  })
})

describe("a page of another site", () => {
  const own = (control: TestControl) => ({ host: `127.0.0.1:${control.port}` })

  it.each([undefined, tokens])("is refused by its origin", async (given) => {
    const control = await start(given === undefined ? {} : { tokens: given })
    const ask = (origin: string) => statusOf(control, { ...own(control), ...bearer(admin).headers, origin })
    expect(await ask("https://evil.example")).toBe(403)
    expect(await ask("null")).toBe(403)
    expect(await ask(`http://127.0.0.1:${control.port + 1}`)).toBe(403)
    expect(await ask(`http://127.0.0.1:${control.port}`)).toBe(200)
    expect(await statusOf(control, { ...own(control), origin: "https://evil.example" }, "/livez")).toBe(403)
  })

  it("is refused by Sec-Fetch-Site, unless the user follows a link", async () => {
    const control = await start()
    const ask = (site: string, mode: string) =>
      statusOf(control, { ...own(control), "sec-fetch-site": site, "sec-fetch-mode": mode }, "/docs")
    expect(await ask("cross-site", "no-cors")).toBe(403)
    expect(await ask("same-site", "cors")).toBe(403)
    expect(await ask("cross-site", "navigate")).toBe(200)
    expect(await ask("same-origin", "cors")).toBe(200)
    expect(await ask("none", "navigate")).toBe(200)
  })
})
