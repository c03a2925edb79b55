import { once } from "node:events"
import { connect } from "node:net"
import { afterEach, describe, expect, it } from "vitest"
import { eventually } from "../../../../test/support/eventually.js"
import { testCore } from "../core.test-support.js"
import { jsonAnswer } from "../http/answer.js"
import { startPlane, type TestPlane } from "./check-api.test-support.js"

const RULES = `
version: 1
rules:
  - id: all
    keyBy: ip
    limits: [{ algorithm: sliding-window-log, limit: 2, window: 10s }]
`

let plane: TestPlane

afterEach(() => plane.close())

/** Sends these bytes and returns all that comes back until the server hangs up, or has answered `answers` times. */
async function raw(url: string, ...pieces: string[]): Promise<string> {
  const socket = connect(Number(new URL(url).port), "127.0.0.1")
  let text = ""
  socket.on("data", (data) => {
    text += data
  })
  socket.on("error", () => {})
  for (const piece of pieces) {
    socket.write(piece)
    await new Promise((resolve) => setImmediate(resolve))
  }
  socket.end()
  await once(socket, "close")
  return text
}

describe("the data plane", () => {
  it("is live, and ready with the revision of its rules", async () => {
    plane = await startPlane(testCore(RULES))
    expect((await plane.get("/livez")).json).toEqual({ status: "ok" })
    expect((await plane.get("/readyz")).json).toEqual({ status: "ready", revision: 1 })
    expect((await plane.get("/livez", {}, "HEAD")).status).toBe(200)
  })

  it("is live but not ready while it drains, and answers with the report of the readiness", async () => {
    const readiness = { isReady: false, report: () => ({ status: "draining" }) }
    plane = await startPlane(testCore(RULES), { readiness })
    const { status, json } = await plane.get("/readyz")
    expect([status, json]).toEqual([503, { status: "draining" }])
    expect((await plane.get("/livez")).status).toBe(200)
  })

  it.each(["/", "/v1", "/v1/check/", "/V1/check", "/v1/checks", "//v1/check", "/constructor", "/json"])(
    "answers 404 at %s",
    async (path) => {
      plane = await startPlane(testCore(RULES))
      const { status, json } = await plane.get(path, {}, "POST")
      expect([status, json.code]).toEqual([404, "PATH_UNKNOWN"])
    },
  )

  it("passes POST /json to its handler", async () => {
    plane = await startPlane(testCore(RULES), { json: (body) => jsonAnswer(`"from envoy: ${body}"`) })
    expect((await plane.post("/json", "{}")).json).toBe("from envoy: {}")
    expect((await plane.get("/json")).status).toBe(405)
  })

  it("lists the methods of a path in Allow", async () => {
    plane = await startPlane(testCore(RULES))
    const { status, headers, json } = await plane.get("/v1/check")
    expect([status, headers.get("allow"), json.code]).toEqual([405, "POST", "METHOD_NOT_ALLOWED"])
    expect((await plane.post("/livez", "")).headers.get("allow")).toBe("GET, HEAD")
  })

  it("reads a body that arrives in several packets, or chunked", async () => {
    plane = await startPlane(testCore(RULES))
    const head = "POST /v1/check HTTP/1.1\r\nhost: x\r\nconnection: close\r\n"
    const whole = await raw(plane.url, `${head}content-length: 18\r\n\r\n{"ip":`, '"192.0', '.2.1"}')
    expect(whole).toContain('"key":"ip:192.0.2.1"')
    const chunked = await raw(
      plane.url,
      `${head}transfer-encoding: chunked\r\n\r\n`,
      '6\r\n{"ip":\r\n',
      'c\r\n"192.0.2.9"}\r\n0\r\n\r\n',
    )
    expect(chunked).toContain('"key":"ip:192.0.2.9"')
  })

  it("answers pipelined requests in order", async () => {
    plane = await startPlane(testCore(RULES))
    const ask = (user: number, end = "") =>
      `POST /v1/check HTTP/1.1\r\nhost: x\r\n${end}content-length: 18\r\n\r\n{"ip":"192.0.2.${user}"}`
    const text = await raw(plane.url, ask(1) + ask(2) + ask(3, "connection: close\r\n"))
    expect([...text.matchAll(/"key":"([^"]+)"/g)].map((match) => match[1])).toEqual([
      "ip:192.0.2.1",
      "ip:192.0.2.2",
      "ip:192.0.2.3",
    ])
  })

  it("refuses a body that is too large, announced or not, and reads the rest of it if that is short", async () => {
    plane = await startPlane(testCore(RULES), { maxBodyBytes: 1_024 })
    expect((await plane.post("/v1/check", `{"ip":"${"1".repeat(1_015)}"}`)).status).toBe(200)
    const over = await plane.post("/v1/check", `{"ip":"${"1".repeat(1_016)}"}`)
    expect([over.status, over.json.code]).toEqual([413, "BODY_TOO_LARGE"])
    expect((await plane.post("/v1/check", "x".repeat(1_000_000))).status).toBe(413)
  })

  it("closes the connection after a body that it does not read, so that the rest is not parsed as a request", async () => {
    plane = await startPlane(testCore(RULES))
    const socket = connect(Number(new URL(plane.url).port), "127.0.0.1")
    let text = ""
    socket.on("data", (data) => {
      text += data
    })
    socket.on("error", () => {})
    socket.write("POST /v1/check HTTP/1.1\r\nhost: x\r\ncontent-length: 99999999\r\n\r\n{")
    await new Promise((resolve) => socket.once("close", resolve))
    expect(text).toMatch(/^HTTP\/1.1 413 /)
    expect(text.match(/HTTP\/1.1/g)).toHaveLength(1)
  })

  it("survives a client that disconnects in the middle of its body", async () => {
    plane = await startPlane(testCore(RULES))
    const socket = connect(Number(new URL(plane.url).port), "127.0.0.1")
    socket.write("POST /v1/check HTTP/1.1\r\nhost: x\r\ncontent-length: 100\r\n\r\n{")
    await once(socket, "connect")
    await eventually(async () => (await plane.get("/livez")).status === 200)
    socket.destroy()
    expect((await plane.post("/v1/check", { ip: "192.0.2.1" })).status).toBe(200)
    expect(plane.errors).toEqual([])
  })

  it("answers 500 without details, and logs the error", async () => {
    plane = await startPlane(
      testCore(RULES, { tierOf: () => Promise.reject(new Error("the directory is away")) }),
    )
    const { status, text } = await plane.post("/v1/check", { ip: "192.0.2.1" })
    expect([status, text.includes("directory")]).toEqual([500, false])
    expect(plane.errors).toMatchObject([{ message: "the directory is away" }])
  })
})
