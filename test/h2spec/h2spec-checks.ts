import { execFile } from "node:child_process"
import { afterEach, expect, it } from "vitest"
import { headerBlock, startHttp2 } from "../../packages/server/src/http2/index.js"
import { portOf } from "../service/bed.js"

const closers: (() => Promise<void>)[] = []

afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close()
})

interface Verdict {
  readonly failures: string
  readonly passed: number
  readonly skipped: number
  readonly failed: number
}

/** All that it checks: generic, HPACK and HTTP/2, and what RFC 9113 only recommends. */
function h2spec(address: string): Promise<Verdict> {
  const args = ["--strict", "--host", "127.0.0.1", "--port", String(portOf(address))]
  return new Promise((resolve, reject) => {
    // It ends with 1 when something failed, and says what.
    execFile(process.env.SLUICE_H2SPEC as string, args, (_, stdout, stderr) => {
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
  const headers = headerBlock({ ":status": "200", "content-type": "text/plain" })
  const trailers = headerBlock({ "x-end": "yes" })
  const errors: unknown[] = []
  const server = await startHttp2({
    host: "127.0.0.1",
    port: 0,
    onError: (error) => errors.push(error),
    onRequest: (stream) => ({
      data() {},
      ended: () => stream.answer(headers, Buffer.from("so many bytes that windows matter"), trailers),
      closed() {},
      look() {},
    }),
  })
  closers.push(() => server.close(0))
  const { failures, passed, skipped, failed } = await h2spec(server.address)
  expect(failures).toBe("")
  expect({ skipped, failed }).toEqual({ skipped: 0, failed: 0 })
  expect(passed).toBeGreaterThan(140)
  expect(errors).toEqual([])
})
