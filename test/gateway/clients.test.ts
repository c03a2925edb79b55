// Clients and servers that are not ours, as people have them.

import { execFile } from "node:child_process"
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { promisify } from "node:util"
import { describe, expect, it } from "vitest"
import { toolPath } from "../support/tool.js"
import { afterThis, openBackend, openGateway } from "./bed.js"

const exec = promisify(execFile)
const curl = async (...args: string[]) =>
  (await exec(toolPath("curl"), ["--silent", "--show-error", ...args])).stdout
const once = "{ limit: 1, window: 1h, algorithm: fixed-window }"

describe("curl", () => {
  it("sends GET, POST and HEAD", async () => {
    const backend = await openBackend(async (request, response) => {
      let body = ""
      for await (const piece of request) body += piece
      response.setHeader("x-method", request.method ?? "").end(`${request.url} ${body}`)
    })
    const gateway = await openGateway({ upstream: backend })
    expect(await curl(`${gateway.url}/a?b=c`)).toBe("/a?b=c ")
    expect(await curl("--data", "d=e", `${gateway.url}/a`)).toBe("/a d=e")
    expect(await curl("--head", gateway.url)).toMatch(/^HTTP\/1\.1 200 OK\r\n[\s\S]*x-method: HEAD/)
  })

  it("uploads a file of unknown length, and one with Expect: 100-continue", async () => {
    const backend = await openBackend(async (request, response) => {
      let length = 0
      for await (const piece of request) length += (piece as Buffer).length
      response.end(String(length))
    })
    const gateway = await openGateway({ upstream: backend })
    const folder = mkdtempSync(join(tmpdir(), "sluice-curl-"))
    afterThis(() => rmSync(folder, { recursive: true }))
    const file = join(folder, "file")
    writeFileSync(file, Buffer.alloc(3_000_000, "x"))
    expect(await curl("--upload-file", file, "--header", "Transfer-Encoding: chunked", gateway.url)).toBe(
      "3000000",
    )
    expect(await curl("--data-binary", `@${file}`, "--header", "Expect: 100-continue", gateway.url)).toBe(
      "3000000",
    )
  })

  it("does not send the body of a denied request", async () => {
    const backend = await openBackend()
    const gateway = await openGateway({
      upstream: backend,
      rules: `version: 1\nrules: [{ id: api, limits: [${once}] }]`,
    })
    await curl(gateway.url)
    const folder = mkdtempSync(join(tmpdir(), "sluice-curl-"))
    afterThis(() => rmSync(folder, { recursive: true }))
    const file = join(folder, "file")
    writeFileSync(file, Buffer.alloc(3_000_000, "x"))
    const wrote = await curl(
      ...["--upload-file", file, "--header", "Expect: 100-continue", "--expect100-timeout", "30"],
      ...["--output", "/dev/null", "--write-out", "%{http_code} %{size_upload}", gateway.url],
    )
    expect(wrote).toBe("429 0")
  })

  it("reuses its connection", async () => {
    const backend = await openBackend()
    const gateway = await openGateway({ upstream: backend })
    const url = `${gateway.url}/[1-5]`
    const written = await curl("--output", "/dev/null", "--write-out", "%{num_connects}", url)
    expect(written).toBe("10000")
  })
})

describe("wrk", () => {
  it("gets a correct answer for every allowed and every denied request", async () => {
    const backend = await openBackend()
    const limit = "{ limit: 40, window: 1h, algorithm: fixed-window }"
    const gateway = await openGateway({
      upstream: backend,
      rules: `version: 1\nrules: [{ id: api, limits: [${limit}] }]`,
    })
    const { stdout } = await exec(toolPath("wrk"), ["-t", "1", "-c", "20", "-d", "1s", gateway.url])
    const answered = Number(/(\d+) requests in/.exec(stdout)?.[1])
    const denied = Number(/Non-2xx or 3xx responses: (\d+)/.exec(stdout)?.[1])
    expect(stdout).not.toMatch(/Socket errors: connect ([1-9]|0, read [1-9]|0, read 0, write [1-9])/)
    expect(answered).toBeGreaterThan(40)
    expect(answered - denied).toBe(40)
    expect(backend.seen).toHaveLength(40)
  })
})
