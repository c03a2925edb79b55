import { execFile } from "node:child_process"
import { once } from "node:events"
import { mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs"
import { Agent, get, type IncomingMessage, type ServerResponse } from "node:http"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { text } from "node:stream/consumers"
import { connect as connectTls } from "node:tls"
import { promisify } from "node:util"
import { afterEach, beforeAll, beforeEach, describe, expect, it, vi } from "vitest"
import { WebSocket, WebSocketServer } from "ws"
import { makeCertificate } from "../support/certificate.js"
import { eventually } from "../support/eventually.js"
import { LOOPBACK } from "../support/ports.js"
import { buildServer, killAll, run, start } from "../support/service-process.js"
import { toolPath } from "../support/tool.js"
import { afterThis, openBackend } from "./bed.js"

// Each test starts processes, on a machine that may be busy.
vi.setConfig({ testTimeout: 60_000 })

let folder: string

beforeAll(buildServer, 60_000)

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "sluice-gateway-"))
})

afterEach(() => {
  killAll()
  rmSync(folder, { recursive: true })
})

/** A file of the test's own. */
function write(name: string, content: string): string {
  const path = join(folder, name)
  writeFileSync(path, content)
  return path
}

function configOf(gateway: object): string {
  // JSON is YAML.
  return write("sluice.config.yaml", JSON.stringify({ gateway }))
}

/** Starts it on a free port. Its configuration may be changed, and is followed after `reload`. */
async function startGateway(args: readonly string[]) {
  const started = await start(["gateway", ...args])
  const { child, logged, addresses } = started
  let reloads = 0
  return {
    ...started,
    address: addresses.gateway as string,
    url: `http://${addresses.gateway}`,
    control: `http://${addresses.control}`,
    async reload() {
      reloads++
      child.kill("SIGHUP")
      await eventually(
        () => logged().filter(({ msg }) => /^(reloaded|reload failed)/.test(String(msg))).length >= reloads,
        { within: 20_000 },
      )
    },
  }
}

const THREE =
  "version: 1\nrules:\n  - { id: all, limits: [{ algorithm: sliding-window-log, limit: 3, window: 1h }] }\n"

it("forwards what its rules allow, and denies the rest without asking the backend", async () => {
  const backend = await openBackend()
  const { url, stdout } = await startGateway([
    "--upstream",
    `http://${LOOPBACK}:${backend.port}`,
    "--rules",
    write("rules.yaml", THREE),
  ])
  await eventually(() => stdout().includes(`Sluice listens on ${url}`))
  const statuses: number[] = []
  for (let i = 0; i < 5; i++) statuses.push((await fetch(`${url}/items?n=${i}`)).status)
  expect(statuses).toEqual([200, 200, 200, 429, 429])
  expect(backend.seen).toEqual(["GET /items?n=0", "GET /items?n=1", "GET /items?n=2"])
})

it("reports every mistake in its configuration, and exits with 1", async () => {
  const { ended, stderr } = run(["gateway", "--upstream", "localhost:3000", "--gateway.tls.cert", "cert.pem"])
  expect(await ended).toEqual([1, null])
  expect(stderr()).toContain(
    "--upstream gateway.upstream[0] must be an address such as http://localhost:3000",
  )
  expect(stderr()).toContain(
    "gateway.tls.key is required: a certificate needs its key, and a key its certificate",
  )
  expect(stderr()).not.toContain("    at ")
})

it("suggests what to do when its port is in use", async () => {
  const { address } = await startGateway(["--upstream", "http://127.0.0.1:1"])
  const { ended, stderr } = run([
    ...["gateway", "--upstream", "http://127.0.0.1:1", "--control.port=0"],
    ...["--gateway.port", address.split(":")[1] as string],
  ])
  expect(await ended).toEqual([1, null])
  expect(stderr()).toMatch(/is taken by another program[\s\S]*--gateway.port \d+/)
})

it("writes a line for each request, and exports metrics by route", async () => {
  const backend = await openBackend((request, response) => {
    response.statusCode = request.url === "/api/missing" ? 404 : 200
    response.end("ok")
  })
  const log = join(folder, "access.log")
  const targets = [`http://${LOOPBACK}:${backend.port}`]
  const config = configOf({
    upstreams: { one: { targets }, away: { targets: ["http://127.0.0.1:1"] } },
    routes: [
      { name: "api", path: "/api", upstream: "one" },
      { name: "away", path: "/away", upstream: "away" },
    ],
    accessLog: { file: log },
  })
  const { url, control, reload } = await startGateway(["--config", config])
  for (const path of ["/api/items?secret=1", "/api/missing", "/away", "/nowhere"]) await fetch(url + path)
  const lines = await eventually(() => {
    const written = readFileSync(log, "utf8")
      .split("\n")
      .filter((line) => line !== "")
    return written.length === 4 && written.map((line) => JSON.parse(line))
  })
  expect(lines.map(({ path, status, route, error }) => [path, status, route, error])).toEqual([
    ["/api/items", 200, "api", undefined],
    ["/api/missing", 404, "api", undefined],
    ["/away", 502, "away", "UPSTREAM_UNREACHABLE"],
    ["/nowhere", 404, undefined, undefined],
  ])
  const metrics = await (await fetch(`${control}/metrics`)).text()
  expect(metrics).toContain('sluice_gateway_requests_total{route="api",status="2xx"} 1\n')
  expect(metrics).toContain('sluice_gateway_requests_total{route="api",status="4xx"} 1\n')
  expect(metrics).toContain('sluice_gateway_requests_total{route="_none",status="4xx"} 1\n')
  expect(metrics).toContain(
    'sluice_gateway_upstream_errors_total{route="away",error="UPSTREAM_UNREACHABLE"} 1\n',
  )
  expect(metrics).toContain('sluice_gateway_request_duration_seconds_count{route="api"} 2\n')
  // As logrotate does it.
  renameSync(log, `${log}.1`)
  await reload()
  await fetch(`${url}/api/again`)
  await eventually(() => readFileSync(log, "utf8").includes('"/api/again"'))
})

describe("a reload", () => {
  it("sends new requests to the new upstream, and drops no connection, no answer in progress and no WebSocket", async () => {
    const begun: ServerResponse[] = []
    const old = await openBackend((request, response) => {
      if (request.url !== "/stream") return void response.end("old")
      response.write("first,")
      begun.push(response)
    })
    const sockets = new WebSocketServer({ server: old.server })
    sockets.on("connection", (socket) => socket.on("message", (data) => socket.send(`echo ${data}`)))
    const next = await openBackend((_request, response) => void response.end("next"))
    const upstreamOf = ({ port }: { port: number }) => ({ upstream: [`http://${LOOPBACK}:${port}`] })
    const config = configOf(upstreamOf(old))
    const { url, address, reload } = await startGateway(["--config", config])

    const agent = new Agent({ keepAlive: true, maxSockets: 1 })
    const ask = async () => {
      const call = get(url, { agent })
      const [response] = (await once(call, "response")) as [IncomingMessage]
      return { body: await text(response), port: call.socket?.localPort }
    }
    const before = await ask()
    const stream = await fetch(`${url}/stream`)
    const socket = new WebSocket(`ws://${address}/socket`)
    afterThis(() => socket.terminate())
    await once(socket, "open")

    configOf(upstreamOf(next))
    await reload()

    const after = await ask()
    expect([before.body, after.body]).toEqual(["old", "next"])
    expect(after.port).toBe(before.port)
    begun[0]?.end("last")
    expect(await stream.text()).toBe("first,last")
    socket.send("hello")
    expect(String((await once(socket, "message"))[0])).toBe("echo hello")
    agent.destroy()
  })

  it("keeps the old configuration when the new one has a mistake, and names it", async () => {
    const backend = await openBackend()
    const config = configOf({ upstream: [`http://${LOOPBACK}:${backend.port}`] })
    const { url, reload, logged } = await startGateway(["--config", config])
    configOf({ upstream: ["nowhere"] })
    await reload()
    expect(logged().find(({ code }) => code === "CONFIG_INVALID")).toMatchObject({
      msg: "reload failed; keeping the current settings and rules",
      error: expect.stringContaining("gateway.upstream[0] must be an address"),
    })
    expect(await (await fetch(url)).text()).toBe("from the backend")
  })

  it("names the settings that need a restart", async () => {
    const upstream = ["http://127.0.0.1:1"]
    const config = configOf({ upstream })
    const { reload, logged } = await startGateway(["--config", config])
    configOf({ upstream, upgrades: 7 })
    await reload()
    expect(logged().find(({ settings }) => settings !== undefined)).toMatchObject({
      settings: ["gateway.upgrades"],
      msg: "changed settings need a restart",
    })
  })

  it("follows rules under load without one failed request", async () => {
    const backend = await openBackend()
    const rulesOf = (limit: number) =>
      `version: 1\nrules:\n  - { id: all, limits: [{ limit: ${limit}, window: 1h, algorithm: fixed-window }] }\n`
    const rules = write("rules.yaml", rulesOf(1_000_000))
    const config = configOf({ upstream: [`http://${LOOPBACK}:${backend.port}`] })
    const { url, reload } = await startGateway(["--config", config, "--rules", rules])
    const failures: unknown[] = []
    const limits = new Set<string | null>()
    let isOver = false
    const clients = Array.from({ length: 8 }, async () => {
      while (!isOver) {
        try {
          const response = await fetch(url)
          limits.add(response.headers.get("x-ratelimit-limit"))
          if ((await response.text()) !== "from the backend") failures.push(response.status)
        } catch (error) {
          failures.push(error)
        }
      }
    })
    for (let i = 1; i <= 5; i++) {
      write("rules.yaml", rulesOf(1_000_000 + i))
      configOf({ upstream: [`http://${LOOPBACK}:${backend.port}`], deadlines: { connect: `${i}s` } })
      await reload()
      await eventually(() => limits.has(String(1_000_000 + i)))
    }
    isOver = true
    await Promise.all(clients)
    expect(failures).toEqual([])
  })
})

describe("with a certificate", () => {
  it("speaks HTTP/2 and HTTP/1.1 with curl, and shows a renewed certificate after SIGHUP", async () => {
    const backend = await openBackend()
    const files = (certificate: { cert: string; key: string }) => ({
      cert: write("cert.pem", certificate.cert),
      key: write("key.pem", certificate.key),
    })
    const tls = files(makeCertificate())
    const { address, reload } = await startGateway([
      ...["--upstream", `http://${LOOPBACK}:${backend.port}`],
      ...["--gateway.tls.cert", tls.cert, "--gateway.tls.key", tls.key],
    ])
    const curl = async (version: string) => {
      const args = ["-s", version, "--cacert", tls.cert, "-w", " over %{http_version}", `https://${address}/`]
      return (await promisify(execFile)(toolPath("curl"), args)).stdout
    }
    expect(await curl("--http2")).toBe("from the backend over 2")
    expect(await curl("--http1.1")).toBe("from the backend over 1.1")
    const shown = async () => {
      const socket = connectTls({
        host: LOOPBACK,
        port: Number(address.split(":")[1]),
        rejectUnauthorized: false,
      })
      await once(socket, "secureConnect")
      const { fingerprint256 } = socket.getPeerCertificate()
      socket.destroy()
      return fingerprint256
    }
    const before = await shown()
    files(makeCertificate())
    await reload()
    expect(await shown()).not.toBe(before)
    expect(await curl("--http2")).toBe("from the backend over 2")
  })
})

it("answers with several workers, which follow a reload and are counted together", async () => {
  const [old, next] = [
    await openBackend(),
    await openBackend((_request, response) => void response.end("next")),
  ]
  const upstreamOf = ({ port }: { port: number }) => ({ upstream: [`http://${LOOPBACK}:${port}`] })
  const config = configOf(upstreamOf(old))
  const { url, control, reload } = await startGateway(["--config", config, "--workers=2"])
  for (let i = 0; i < 20; i++) expect(await (await fetch(url)).text()).toBe("from the backend")
  await eventually(
    async () =>
      (await (await fetch(`${control}/metrics`)).text()).includes(
        'sluice_gateway_requests_total{route="default",status="2xx"} 20\n',
      ),
    { within: 10_000 },
  )
  configOf(upstreamOf(next))
  await reload()
  await eventually(async () => {
    const bodies = await Promise.all(
      Array.from({ length: 8 }, async () => (await fetch(url, { headers: { connection: "close" } })).text()),
    )
    return bodies.every((body) => body === "next")
  })
})
