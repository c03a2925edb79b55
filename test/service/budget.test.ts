// The most memory that 1,000 hostile connections of HTTP/1 can make the check API hold. Measured: 47, 167, 24 and 31 MiB.

import { afterEach, beforeAll, expect, it } from "vitest"
import { HOSTILE, openHostile, residentMiB, settledMiB } from "../support/hostile.js"
import { buildServer, killAll, run } from "../support/service-process.js"

beforeAll(() => buildServer(), 120_000)
const ends: (() => void)[] = []
afterEach(() => {
  for (const end of ends.splice(0)) end()
  killAll()
})

async function start(): Promise<{ pid: number | undefined; port: number }> {
  const off = ["--grpc.enabled=false", "--control.enabled=false", "--log.denials=0"]
  const { child, logged, ended, stderr } = run(["--http.port=0", ...off])
  const address = await new Promise<string>((resolve, reject) => {
    child.stderr?.on("data", () => {
      const ready = logged().find(({ msg }) => msg === "ready")
      if (ready !== undefined) resolve((ready.addresses as { http: string }).http)
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

it.each([
  ["half heads", `GET / HTTP/1.1\r\nHost: a\r\n${longHead}`, 150],
  [
    "half bodies",
    check.replace(`Length: ${BODY.length}`, "Length: 200000").slice(0, -2) + "x".repeat(150_000),
    400,
  ],
  ["pipeliners", check.repeat(100), 100],
  ["slow readers", batch.repeat(3), 150],
])(
  `${HOSTILE} connections: %s`,
  async (_, bytes, budget) => {
    const { pid, port } = await start()
    const before = residentMiB(pid)
    ends.push(await openHostile(port, bytes))
    const held = (await settledMiB(pid)) - before
    expect(held).toBeLessThan(budget)
    expect((await fetch(`http://127.0.0.1:${port}/livez`)).status).toBe(200)
  },
  60_000,
)
