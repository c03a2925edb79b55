import { execFile } from "node:child_process"
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { promisify } from "node:util"
import { describe, expect, it } from "vitest"
import { afterThis, type Backend, openBackend, openGateway } from "../gateway/bed.js"
import { makeCertificate } from "../support/certificate.js"

const run = promisify(execFile)
const here = fileURLToPath(new URL(".", import.meta.url))

const DENY_ALL = `
version: 1
rules:
  - { id: all, keyBy: global, cost: 2, limits: [{ algorithm: fixed-window, limit: 1, window: 1m }] }
`
const ALLOW_ALL = "version: 1\nrules: []\n"

/** A gateway that speaks TLS. */
async function openTls(upstream: Backend, rules: string): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), "sluice-clients-"))
  afterThis(() => rmSync(folder, { recursive: true }))
  const { cert, key } = makeCertificate()
  const tls = { cert: join(folder, "cert.pem"), key: join(folder, "key.pem") }
  writeFileSync(tls.cert, cert)
  writeFileSync(tls.key, key)
  const gateway = await openGateway({ upstream, rules, settings: { tls } })
  return `${gateway.url.replace("http:", "https:")}/`
}

interface Said {
  readonly method: string
  readonly version?: string
  readonly status?: number
  readonly body?: string
  readonly error?: string
}

type Client = (url: string) => Promise<Said[]>

const linesOf = (stdout: string): Said[] =>
  stdout
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line))

function upload(): string {
  const folder = mkdtempSync(join(tmpdir(), "sluice-upload-"))
  afterThis(() => rmSync(folder, { recursive: true }))
  const file = join(folder, "body")
  writeFileSync(file, Buffer.alloc(8_000_000))
  return file
}

const go: Client = async (url) => {
  const { stdout } = await run(process.env.SLUICE_GO as string, ["run", "main.go", url], { cwd: here })
  return linesOf(stdout)
}

const httpx: Client = async (url) => {
  const { stdout } = await run(process.env.SLUICE_HTTPX_PYTHON as string, ["ask.py", url], { cwd: here })
  return linesOf(stdout)
}

const curl: Client = async (url) => {
  const ask = async (method: string, ...more: string[]): Promise<Said> => {
    const show = "\n%{http_code} HTTP/%{http_version}"
    const args = ["--silent", "--insecure", "--http2", "--write-out", show, ...more, url]
    const { stdout } = await run(process.env.SLUICE_CURL as string, args)
    const [status, version = ""] = (stdout.split("\n").at(-1) as string).split(" ")
    return { method, version, status: Number(status), body: stdout.slice(0, stdout.lastIndexOf("\n")) }
  }
  return [await ask("GET"), await ask("POST", "--data-binary", `@${upload()}`, "--header", "expect:")]
}

const nghttp: Client = async (url) => {
  const ask = async (method: string, ...more: string[]): Promise<Said> => {
    const { stdout } = await run(process.env.SLUICE_NGHTTP as string, ["--verbose", ...more, url])
    // The frames that it received, with their payloads in between.
    const status = Number(/:status: (\d+)/.exec(stdout)?.[1])
    const end = stdout.search(/recv (?:DATA|HEADERS) frame[^\n]*\n[^\n]*END_STREAM/)
    const reset = stdout.search(/recv RST_STREAM/)
    const error = end < 0 || (reset >= 0 && reset < end) ? "reset before END_STREAM" : undefined
    const body = /\{"type".*\}/.exec(stdout)?.[0] ?? ""
    return { method, version: "HTTP/2", status, body, ...(error === undefined ? {} : { error }) }
  }
  return [await ask("GET"), await ask("POST", `--data=${upload()}`)]
}

describe.each<[string, Client]>([
  ["Go's net/http", go],
  ["httpx", httpx],
  ["curl", curl],
  ["nghttp", nghttp],
])("%s, over HTTP/2", (_, client) => {
  it("sees a 429 with its body, also while it uploads", async () => {
    const backend = await openBackend()
    const said = await client(await openTls(backend, DENY_ALL))
    expect(said.map(({ method, status, error }) => ({ method, status, error }))).toEqual([
      { method: "GET", status: 429, error: undefined },
      { method: "POST", status: 429, error: undefined },
    ])
    for (const { version, body } of said) {
      expect(version).toMatch(/^HTTP\/2/)
      expect(JSON.parse(body as string)).toMatchObject({ status: 429, rule: "all" })
    }
    expect(backend.seen).toEqual([])
  })

  it("sees an answer that the upstream gives early", async () => {
    const backend = await openBackend((_request, response) => {
      response.writeHead(413, { "content-type": "application/json" })
      response.end('{"type":"early"}')
    })
    const said = await client(await openTls(backend, ALLOW_ALL))
    for (const { status, error, body } of said)
      expect({ status, error, body }).toEqual({ status: 413, error: undefined, body: '{"type":"early"}' })
  })
})
