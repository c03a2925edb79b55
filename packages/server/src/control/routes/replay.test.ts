import { once } from "node:events"
import { request } from "node:http"
import { connect } from "node:net"
import { performance } from "node:perf_hooks"
import { gzipSync } from "node:zlib"
import { afterEach, beforeAll, describe, expect, it, vi } from "vitest"
import { eventually } from "../../../../../test/support/eventually.js"
import { buildServer } from "../../../../../test/support/service-process.js"
import { hashToken } from "../../http/tokens.js"
import { type Answer, startControl, type TestControl } from "../control-plane.test-support.js"
import { sampleLog } from "../replay/sample-log.js"

// The thread loads what is built, on a machine that may be busy.
vi.setConfig({ testTimeout: 90_000 })
beforeAll(buildServer, 60_000)

let control: TestControl

afterEach(async () => {
  expect(control.errors).toEqual([])
  await control.close()
})

/** A replay takes the time that everything else on the machine leaves. */
const LONG = { within: 60_000 }
/** For uploads that a test leaves unfinished: the service must not end them before the test does. */
const PATIENT = { replay: { idleMs: LONG.within } }

const TYPE = "application/x-sluice-replay"
const IN_FORCE = { candidates: [{ name: "in force" }] }
const STRICT = `version: 1
rules:
  - id: login
    match: { path: /login }
    limits: [{ algorithm: fixed-window, limit: 1, window: 1h }]
`

/** Requests a second apart, each to /login. */
function logOf(count: number, ip = "192.0.2.1"): string {
  return Array.from({ length: count }, (_, i) => {
    const time = new Date(Date.UTC(2026, 0, 1, 10) + i * 1_000).toISOString().slice(11, 19)
    return `${ip} - - [01/Jan/2026:${time} +0000] "POST /login HTTP/1.1" 200 5 "-" "curl/8"\n`
  }).join("")
}

async function replay(plan: object, log: string | Uint8Array, headers: Record<string, string> = {}) {
  const body = Buffer.concat([Buffer.from(`${JSON.stringify(plan)}\n`), Buffer.from(log)])
  const response = await fetch(`${control.url}/replay`, {
    method: "POST",
    headers: { "content-type": TYPE, ...headers },
    body,
  })
  return {
    status: response.status,
    headers: response.headers,
    json: (await response.json()) as Answer["json"],
  }
}

/** An upload that its client is not done with, once the service has begun with it. */
async function startUpload(first: string) {
  const headers = { "content-type": TYPE, expect: "100-continue" }
  const upload = request(`${control.url}/replay`, { method: "POST", headers })
  upload.on("error", () => {})
  upload.flushHeaders()
  // Before that, a replay which the test sends next might come first, and this one be refused.
  await once(upload, "continue")
  upload.write(first)
  const answered = once(upload, "response")
  answered.catch(() => {})
  return { upload, answered }
}

describe("POST /replay", () => {
  it("reports what each candidate would have denied, to whom, and when", async () => {
    control = await startControl()
    const plan = { candidates: [{ name: "in force" }, { name: "stricter", rules: STRICT }] }
    const { status, json } = await replay(plan, logOf(10))
    expect(status).toBe(200)
    expect(json).toMatchObject({ format: "combined", requests: 10, unreadable: { count: 0 } })
    expect(json.candidates).toMatchObject([
      { name: "in force", denied: 8, hurt: { most: [{ client: "ip:192.0.2.1", requests: 10, denied: 8 }] } },
      { name: "stricter", denied: 9, rules: [{ id: "login", requests: 10, denied: 9 }] },
    ])
    expect(json.candidates[1].worstMinutes[0]).toMatchObject({ at: Date.UTC(2026, 0, 1, 10), denied: 9 })
  })

  it("accepts rules as an object, a gzipped log, and the format of the log", async () => {
    control = await startControl()
    const rules = { version: 1, rules: [{ id: "all", limits: [{ limit: 3, window: "1d" }] }] }
    const plan = { candidates: [{ name: "all", rules }], format: "combined" }
    const { json } = await replay(plan, gzipSync(logOf(7)))
    expect(json.candidates).toMatchObject([{ name: "all", denied: 4 }])
  })

  it("settles costs from responses by the bytes of the log", async () => {
    control = await startControl()
    const cost = { estimate: 3, responseJson: "usage.total_tokens" }
    const rules = { version: 1, rules: [{ id: "all", limits: [{ limit: 6, window: "1d" }], cost }] }
    const candidates = [{ name: "all", rules }]
    const settled = await replay({ candidates, cost: { bytesPerUnit: 5 } }, logOf(7))
    expect(settled.json.candidates).toMatchObject([{ denied: 3, costs: { settled: 4, estimated: 0 } }])
    const refused = await replay({ candidates, cost: { bytesPerUnit: 0 } }, logOf(7))
    expect(refused.status).toBe(400)
  })

  it("does not change the counters of the service", async () => {
    control = await startControl()
    await replay(IN_FORCE, logOf(5))
    const { json } = await control.ask("GET", "/keys/login/ip%3A192.0.2.1")
    expect(json.limits).toMatchObject([{ limit: 2, remaining: 2 }])
  })

  it("refuses rules with mistakes, and names the candidate and the place", async () => {
    control = await startControl()
    const rules = STRICT.replace("limit: 1", "limit: 0")
    const { status, json } = await replay({ candidates: [{ name: "zero", rules }] }, logOf(1))
    expect([status, json.code]).toEqual([422, "RULES_INVALID"])
    expect(json.detail).toContain('candidate "zero": 1 mistake')
    expect(json.problems).toMatchObject([{ path: "rules[0].limits[0].limit", line: 5 }])
  })

  it("answers a client that is still sending, and keeps its connection", async () => {
    control = await startControl()
    const { status, headers } = await replay({ candidates: [] }, logOf(3_000).repeat(40))
    expect([status, headers.get("connection")]).toEqual([400, "keep-alive"])
  })

  it.each([
    ["no candidates", { candidates: [] }, "BODY_FIELD_INVALID"],
    ["five", { candidates: ["a", "b", "c", "d", "e"].map((name) => ({ name })) }, "BODY_FIELD_INVALID"],
    ["two of one name", { candidates: [{ name: "a" }, { name: "a" }] }, "BODY_FIELD_INVALID"],
    ["an unknown field", { ...IN_FORCE, rule: 1 }, "BODY_UNKNOWN_FIELD"],
    ["an unknown format", { ...IN_FORCE, format: "w3c" }, "BODY_FIELD_INVALID"],
  ])("refuses a plan with %s", async (_, plan, code) => {
    control = await startControl()
    const { status, json } = await replay(plan, logOf(1))
    expect([status, json.code]).toEqual([400, code])
  })

  it("refuses a log in an unknown format, and a missing log", async () => {
    control = await startControl()
    const unknown = await replay(IN_FORCE, "what is this\nno log at all\n".repeat(50))
    expect([unknown.status, unknown.json.code]).toEqual([400, "LOG_FORMAT_UNKNOWN"])
    const shapes = await replay(
      IN_FORCE,
      '{"time":"2026-05-17T10:05:03Z","ip":"192.0.2.1","path":"/a"}\n'.repeat(50),
    )
    expect([shapes.status, shapes.json.code]).toEqual([400, "LOG_FORMAT_UNKNOWN"])
    const none = await control.ask("POST", "/replay", { headers: { "content-type": TYPE }, body: IN_FORCE })
    expect([none.status, none.json.code]).toEqual([400, "LOG_IO"])
  })

  it("refuses content types that an HTML form can send, and the role reader", async () => {
    const token = "reader-token-of-16+"
    control = await startControl({ tokens: [{ name: "r", role: "reader", hash: hashToken(token) }] })
    const headers = { authorization: `Bearer ${token}` }
    const { status, json } = await replay(IN_FORCE, logOf(1), headers)
    expect([status, json.code]).toEqual([403, "ROLE_REQUIRED"])
    await control.close()
    control = await startControl()
    const form = await replay(IN_FORCE, logOf(1), { "content-type": "text/plain" })
    expect([form.status, form.json.code]).toEqual([415, "BODY_TYPE_UNSUPPORTED"])
  })
})

describe("bounds", () => {
  it("refuses a log that is too large, announced or not", async () => {
    control = await startControl({ replay: { maxBytes: 4_096 }, maxBodyBytes: 1_024 })
    const announced = await replay(IN_FORCE, logOf(100))
    expect([announced.status, announced.json.code]).toEqual([413, "BODY_TOO_LARGE"])
    const { upload, answered } = await startUpload(`${JSON.stringify(IN_FORCE)}\n`)
    upload.end(logOf(100))
    const [response] = await answered
    expect(response.statusCode).toBe(413)
    response.resume()
  })

  it("replays one log at a time, and the next when that is done", async () => {
    control = await startControl(PATIENT)
    const { upload, answered } = await startUpload(`${JSON.stringify(IN_FORCE)}\n${logOf(3)}`)
    const second = await eventually(async () => {
      const given = await replay(IN_FORCE, logOf(1))
      return given.status === 503 ? given : undefined
    }, LONG)
    expect([second.json.code, second.headers.get("retry-after")]).toEqual(["REPLAY_BUSY", "10"])
    upload.end()
    const [response] = await answered
    expect(response.statusCode).toBe(200)
    response.resume()
    expect((await replay(IN_FORCE, logOf(1))).status).toBe(200)
  })

  it("ends when the client leaves, and runs the next", async () => {
    control = await startControl(PATIENT)
    const { upload } = await startUpload(`${JSON.stringify(IN_FORCE)}\n${logOf(3)}`)
    await eventually(async () => (await replay(IN_FORCE, logOf(1))).status === 503, LONG)
    upload.destroy()
    await eventually(async () => (await replay(IN_FORCE, logOf(1))).status === 200, LONG)
  })

  it("lets a client that cancelled start again at once", async () => {
    control = await startControl(PATIENT)
    for (let i = 0; i < 3; i++) {
      const { upload } = await startUpload(`${JSON.stringify(IN_FORCE)}\n${logOf(3)}`)
      await eventually(async () => (await replay(IN_FORCE, logOf(1))).status === 503, LONG)
      const again = replay(IN_FORCE, logOf(1))
      upload.destroy()
      expect((await again).status).toBe(200)
    }
  })

  it("hangs up on a client that stops sending", async () => {
    control = await startControl({ replay: { idleMs: 400 } })
    const { upload } = await startUpload(`${JSON.stringify(IN_FORCE)}\n${logOf(3)}`)
    await once(upload, "error")
    await eventually(async () => (await replay(IN_FORCE, logOf(1))).status === 200, LONG)
  })

  it("ends a replay that takes too long", async () => {
    control = await startControl({ replay: { deadlineMs: 1 } })
    const { status, json } = await replay(IN_FORCE, logOf(1))
    expect([status, json.code]).toEqual([413, "REPLAY_TOO_MUCH"])
  })

  it("does not block the thread that decides", async () => {
    control = await startControl()
    const log = logOf(3_000).repeat(60)
    const before = performance.eventLoopUtilization()
    const { json } = await replay(IN_FORCE, log)
    const { utilization, active } = performance.eventLoopUtilization(before)
    expect(json.requests).toBe(180_000)
    // Here is also the client, which sends 17 MB. Replaying them here would take all of it.
    expect([active, utilization < 0.6]).toEqual([active, true])
  })

  it("ends other slow bodies, although uploads of logs may take long", async () => {
    control = await startControl({ bodyTimeoutMs: 50 })
    const socket = connect(control.port, "127.0.0.1")
    await once(socket, "connect")
    socket.write(
      "POST /rules/validate HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-type: application/json\r\ncontent-length: 100\r\n\r\n{",
    )
    socket.resume()
    await once(socket, "close")
  })
})

describe("GET /replay/sample", () => {
  it("is a log of about 5,000 readable lines, the same each time", async () => {
    control = await startControl()
    const { text, headers } = await control.ask("GET", "/replay/sample")
    expect(headers.get("content-type")).toContain("text/plain")
    expect(text).toBe(sampleLog())
    const lines = text.trimEnd().split("\n").length
    expect(lines).toBeGreaterThan(4_500)
    expect(lines).toBeLessThan(5_500)
    const { json } = await replay(IN_FORCE, text)
    expect(json).toMatchObject({ format: "combined", requests: lines, unreadable: { count: 0 } })
    expect(json.disorder.lines).toBeGreaterThan(10)
    expect(json.disorder.late).toBe(0)
  })
})
