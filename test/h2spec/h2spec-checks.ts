import { execFile } from "node:child_process"
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { createSecureServer } from "node:http2"
import type { AddressInfo } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { expect, it } from "vitest"
import { openBackend, openGateway } from "../gateway/bed.js"
import { afterThis } from "../support/after-this.js"
import { makeCertificate } from "../support/certificate.js"
import { type Conversation, FIXTURE, format } from "./conversation.js"
import { record } from "./record.js"
import { SERVERS, startPlain } from "./servers.js"

const h2spec = process.env.SLUICE_H2SPEC as string

interface Verdict {
  readonly failures: string
  readonly passed: number
  readonly skipped: number
  readonly failed: number
}

/** All that it checks: generic, HPACK and HTTP/2, and what RFC 9113 only recommends. */
function check(port: number, more: readonly string[] = []): Promise<Verdict> {
  const args = ["--strict", "--host", "127.0.0.1", "--port", String(port), ...more]
  return new Promise((resolve, reject) => {
    // It exits with 1 after a failure, and prints it.
    execFile(h2spec, args, (_, stdout, stderr) => {
      const counts = /(\d+) passed, (\d+) skipped, (\d+) failed/.exec(stdout)
      if (counts === null) return reject(new Error(`h2spec printed:\n${stdout}${stderr}`))
      const [passed = 0, skipped = 0, failed = 0] = counts.slice(1).map(Number)
      const [, failures = ""] = stdout.split("Failures:")
      resolve({ failures, passed, skipped, failed })
    })
  })
}

// Not on the gRPC port, which refuses the requests of h2spec because they are not gRPC.
it("finds nothing wrong with the HTTP/2 server, and skips nothing", async () => {
  const server = await startPlain()
  afterThis(() => server.close())
  const { failures, passed, skipped, failed } = await check(server.port)
  expect(failures).toBe("")
  expect({ skipped, failed }).toEqual({ skipped: 0, failed: 0 })
  expect(passed).toBeGreaterThan(140)
  expect(server.errors).toEqual([])
})

// The gateway leaves HTTP/2 to Node, in which h2spec finds a few things wrong. It may add none to them.
it("finds nothing wrong with the gateway over TLS but what is wrong with node:http2", async () => {
  const folder = mkdtempSync(join(tmpdir(), "sluice-h2spec-"))
  afterThis(() => rmSync(folder, { recursive: true }))
  const { cert, key } = makeCertificate()
  const tls = { cert: join(folder, "cert.pem"), key: join(folder, "key.pem") }
  writeFileSync(tls.cert, cert)
  writeFileSync(tls.key, key)
  const upstream = await openBackend((request, response) => {
    request.resume().on("end", () => response.end("so many bytes that windows matter"))
  })
  const gateway = await openGateway({ upstream, rules: "version: 1\nrules: []\n", settings: { tls } })
  const plain = createSecureServer({ cert, key }, (request, response) => {
    request.resume().on("end", () => response.end("so many bytes that windows matter"))
  })
  plain.on("sessionError", () => {})
  await new Promise<void>((resolve) => plain.listen(0, "127.0.0.1", resolve))
  afterThis(() => void plain.close())

  const overTls = ["--tls", "--insecure"]
  const ofNode = await check((plain.address() as AddressInfo).port, overTls)
  const ofGateway = await check(Number(new URL(gateway.url).port), overTls)
  const failedIn = ({ failures }: Verdict) => failures.split("\n").filter((line) => line.includes("×"))
  console.log(`node:http2: ${ofNode.passed} passed; the gateway: ${ofGateway.passed} passed`)
  expect(failedIn(ofGateway).filter((line) => !failedIn(ofNode).includes(line))).toEqual([])
  expect(ofGateway.skipped).toBe(0)
  expect(ofGateway.passed).toBeGreaterThan(135)
})

if (process.env.SLUICE_RECORD === "1")
  it("is written down, case by case, for the tests that run without it", async () => {
    const all: Conversation[] = []
    for (const [name, start] of Object.entries(SERVERS)) {
      const server = await start()
      afterThis(() => server.close())
      const { conversations, leftOut } = await record(h2spec, name, server.port)
      console.log(`${name}: ${conversations.length} cases recorded, ${leftOut.length} left out`)
      for (const line of leftOut) console.log(`  ${line.slice(0, 300)}`)
      all.push(...conversations)
    }
    writeFileSync(FIXTURE, format(all))
  })
