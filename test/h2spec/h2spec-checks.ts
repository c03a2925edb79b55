import { execFile } from "node:child_process"
import { writeFileSync } from "node:fs"
import { expect, it } from "vitest"
import { afterThis } from "../support/after-this.js"
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
function check(port: number): Promise<Verdict> {
  const args = ["--strict", "--host", "127.0.0.1", "--port", String(port)]
  return new Promise((resolve, reject) => {
    // It ends with 1 when something failed, and says what.
    execFile(h2spec, args, (_, stdout, stderr) => {
      const counts = /(\d+) passed, (\d+) skipped, (\d+) failed/.exec(stdout)
      if (counts === null) return reject(new Error(`h2spec printed:\n${stdout}${stderr}`))
      const [passed = 0, skipped = 0, failed = 0] = counts.slice(1).map(Number)
      const [, failures = ""] = stdout.split("Failures:")
      resolve({ failures, passed, skipped, failed })
    })
  })
}

// Not on the gRPC port: h2spec speaks no gRPC, and is refused there before it has come to what it wants to try.
it("finds nothing wrong with the HTTP/2 server, and skips nothing", async () => {
  const server = await startPlain()
  afterThis(() => server.close())
  const { failures, passed, skipped, failed } = await check(server.port)
  expect(failures).toBe("")
  expect({ skipped, failed }).toEqual({ skipped: 0, failed: 0 })
  expect(passed).toBeGreaterThan(140)
  expect(server.errors).toEqual([])
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
