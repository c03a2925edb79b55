// The most memory that 1,000 hostile connections of HTTP/1 can make the check API and the control plane hold.
// Measured: 45, 168, 20 and 26 MiB, and 43, 168, 75 (of 200 questions each) and 22 MiB.

import { afterEach, beforeAll, expect, it } from "vitest"
import { HOSTILE, openHostile, residentMiB, settledMiB } from "../support/hostile.js"
import { buildServer, killAll, run } from "../support/service-process.js"

beforeAll(() => buildServer(), 120_000)
const ends: (() => void)[] = []
afterEach(() => {
  for (const end of ends.splice(0)) end()
  killAll()
})

type Listener = "http" | "control"

async function start(listener: Listener): Promise<{ pid: number | undefined; port: number }> {
  const args = ["--http.port=0", "--control.port=0", "--grpc.enabled=false", "--log.denials=0"]
  const { child, logged, ended, stderr } = run(args)
  const address = await new Promise<string>((resolve, reject) => {
    child.stderr?.on("data", () => {
      const ready = logged().find(({ msg }) => msg === "ready")
      if (ready !== undefined) resolve((ready.addresses as Record<Listener, string>)[listener])
    })
    void ended.then(() => reject(new Error(`it ended without listening:\n${stderr()}`)))
  })
  return { pid: child.pid, port: Number(address.slice(address.lastIndexOf(":") + 1)) }
}

const BODY = '{"key":"a"}'
const check = `POST /v1/check HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: ${BODY.length}\r\n\r\n${BODY}`
/** A small question with an answer of some 300 KB. */
const BATCH = JSON.stringify({ checks: Array.from({ length: 1_000 }, () => ({ ip: "192.0.2.1" })) })
const batch = `POST /v1/check/batch HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: ${BATCH.length}\r\n\r\n${BATCH}`
const longHead = Array.from({ length: 100 }, (_, i) => `x-${i}: ${"y".repeat(140)}`).join("\r\n")

const halfHead = `GET / HTTP/1.1\r\nHost: a\r\n${longHead}`
const halfBody = (path: string) =>
  `POST ${path} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nContent-Length: 200000\r\n\r\n${"x".repeat(150_000)}`
const rules = "GET /rules HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"
const live = "GET /events HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"

it.each([
  ["http", "half heads", halfHead, 150],
  ["http", "half bodies", halfBody("/v1/check"), 400],
  ["http", "pipeliners", check.repeat(100), 100],
  ["http", "slow readers", batch.repeat(3), 150],
  ["control", "half heads", halfHead, 150],
  ["control", "half bodies", halfBody("/rules/validate"), 400],
  ["control", "pipeliners", rules.repeat(20), 150],
  ["control", "listeners to events", live, 150],
] as const)(
  `%s, ${HOSTILE} connections: %s`,
  async (listener, _what, bytes, budget) => {
    const { pid, port } = await start(listener)
    const before = residentMiB(pid)
    ends.push(await openHostile(port, bytes))
    const held = (await settledMiB(pid)) - before
    expect(held).toBeLessThan(budget)
    const path = listener === "http" ? "livez" : "status"
    expect((await fetch(`http://127.0.0.1:${port}/${path}`)).status).toBe(200)
  },
  60_000,
)
