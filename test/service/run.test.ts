// The service as a process, on real Redis servers.

import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterEach, beforeAll, beforeEach, describe, expect, it, vi } from "vitest"
import { eventually } from "../support/eventually.js"
import { connectionsTo } from "../support/http-client.js"
import { reservePort } from "../support/ports.js"
import { type RedisServer, startRedis } from "../support/redis/single.js"
import { buildServer, killAll, type Running, run, start } from "../support/service-process.js"

// Each test starts processes, on a machine that may be busy.
vi.setConfig({ testTimeout: 60_000 })

let folder: string
const servers: RedisServer[] = []

beforeAll(buildServer, 60_000)

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "sluice-run-"))
})

afterEach(async () => {
  killAll()
  await Promise.all(servers.splice(0).map((server) => server.stop()))
  rmSync(folder, { recursive: true })
})

async function redis(): Promise<RedisServer> {
  const server = await startRedis()
  servers.push(server)
  return server
}

function rulesOf(limit: number, keyBy = "user"): string {
  const limits = `[{ algorithm: sliding-window-log, limit: ${limit}, window: 1h }]`
  return `version: 1\nrules:\n  - { id: all, keyBy: ${keyBy}, limits: ${limits} }\n`
}

function rulesFile(limit: number, keyBy?: string): string {
  const path = join(folder, "rules.yaml")
  writeFileSync(path, rulesOf(limit, keyBy))
  return path
}

interface Checked {
  readonly allowed: boolean
  readonly remaining: number
  readonly degraded?: string
}

async function check({ url }: Running, body = '{"user":"ann"}'): Promise<Checked> {
  const response = await fetch(`${url}/v1/check`, { method: "POST", body })
  expect(response.status).toBe(200)
  return (await response.json()) as Checked
}

/** Asks over so many connections at once. */
async function askMany({ url }: Running, connections: number, each: number) {
  let allowed = 0
  let degraded = 0
  await Promise.all(
    connectionsTo(url, connections).map(async (client) => {
      for (let i = 0; i < each; i++) {
        const { body } = await client.post("/v1/check", '{"user":"ann"}')
        const decision = JSON.parse(body) as Checked
        if (decision.allowed) allowed++
        if (decision.degraded !== undefined) degraded++
      }
      client.close()
    }),
  )
  return { allowed, degraded }
}

describe("on Redis", () => {
  it("allows exactly the limit over two instances of two workers each", async () => {
    const { url } = await redis()
    const file = rulesFile(200)
    // On a busy machine Redis may answer too late: such a charge is denied here, and never allowed twice.
    writeFileSync(file, readFileSync(file, "utf8").replace("keyBy", "onStoreFailure: deny, keyBy"))
    const args = ["--store.url", url, "--rules.file", file, "--workers=2"]
    const instances = await Promise.all([start(args), start(args)])
    const counts = await Promise.all(instances.map((instance) => askMany(instance, 8, 40)))
    const allowed = counts.reduce((sum, count) => sum + count.allowed, 0)
    const degraded = counts.reduce((sum, count) => sum + count.degraded, 0)
    expect(allowed).toBeLessThanOrEqual(200)
    expect(allowed + degraded).toBeGreaterThanOrEqual(200)
  })

  it("hashes API keys the same in every instance, with a secret that one of them generated", async () => {
    const { url } = await redis()
    const args = ["--store.url", url, "--rules.file", rulesFile(5, "apiKey")]
    const [one, other] = await Promise.all([start(args), start(args)])
    expect(await check(one, '{"apiKey":"sk_1"}')).toMatchObject({ remaining: 4 })
    expect(await check(other, '{"apiKey":"sk_1"}')).toMatchObject({ remaining: 3 })
  })

  it("starts while Redis is away: live, ready, and degraded until it is back", async () => {
    const server = await redis()
    await server.kill()
    const service = await start(["--store.url", server.url, "--rules.file", rulesFile(5)])
    expect((await fetch(`${service.url}/livez`)).status).toBe(200)
    await eventually(async () => (await check(service)).degraded === "local")
    const ready = await fetch(`${service.url}/readyz`)
    expect(ready.status).toBe(200)
    await eventually(async () => {
      await check(service)
      return (
        ((await (await fetch(`${service.url}/readyz`)).json()) as { status: string }).status === "degraded"
      )
    })
    expect(service.logged().some(({ msg }) => msg === "the store did not answer")).toBe(true)
    await server.restart()
    await eventually(async () => (await check(service)).degraded === undefined)
    await eventually(
      async () =>
        ((await (await fetch(`${service.url}/readyz`)).json()) as { status: string }).status === "ready",
    )
  })

  it("stays live, ready and within its deadlines while Redis is frozen", async () => {
    const server = await redis()
    const service = await start(["--store.url", server.url, "--rules.file", rulesFile(5)])
    await check(service)
    await server.pause()
    try {
      expect((await check(service)).degraded).toBe("local")
      expect((await fetch(`${service.url}/livez`)).status).toBe(200)
      expect((await fetch(`${service.url}/readyz`)).status).toBe(200)
    } finally {
      server.resume()
    }
  })
})

describe("rules in Redis", () => {
  const inRedis = (url: string) => [
    "--store.url",
    url,
    "--rules.redis.enabled",
    "--rules.redis.last-good",
    join(folder, "last-good"),
  ]

  it("start from the file, are changed in one instance, and followed by the other", async () => {
    const { url } = await redis()
    const args = [...inRedis(url), "--rules.file", rulesFile(5)]
    const [one, other] = await Promise.all([start(args), start(args)])
    await putRules(one, 50)
    await eventually(async () => (await check(other)).remaining > 5)
  })

  it("are the last known ones when Redis is away at the start", async () => {
    const server = await redis()
    const first = await start([...inRedis(server.url), "--rules.file", rulesFile(5)])
    await putRules(first, 7)
    first.child.kill("SIGTERM")
    await first.ended
    await server.kill()
    const second = await start([...inRedis(server.url), "--rules.file", rulesFile(5)])
    const { limit } = (await check(second)) as Checked & { limit: number }
    expect(limit).toBe(7)
    expect(second.logged().find(({ msg }) => msg === "ready")).toMatchObject({ status: "degraded" })
  })

  it("prevent a start when Redis is away and there is no copy, with a clear message", async () => {
    const { port, release } = await reservePort()
    const { ended, stderr } = run([
      ...inRedis(`redis://127.0.0.1:${port}`),
      "--http.port=0",
      "--grpc.port=0",
      "--control.port=0",
    ])
    expect(await ended).toEqual([1, null])
    expect(stderr()).toContain("[RULES_UNAVAILABLE]")
    expect(stderr()).not.toContain("    at ")
    await release()
  })
})

it("loses no acknowledged change when it is killed with SIGKILL", async () => {
  const file = rulesFile(1)
  for (let round = 1; round <= 5; round++) {
    const service = await start(["--rules.file", file])
    const limit = round * 10
    let acknowledged = 0
    const changing = (async () => {
      for (let i = 1; ; i++) {
        const status = await putRules(service, limit + i).catch(() => undefined)
        if (status === undefined) return
        acknowledged = limit + i
      }
    })()
    await eventually(() => acknowledged > limit + round)
    service.child.kill("SIGKILL")
    await changing
    const kept = Number(/limit: (\d+)/.exec(readFileSync(file, "utf8"))?.[1])
    expect([acknowledged, acknowledged + 1]).toContain(kept)
  }
})

it("listens beyond this machine only with tokens", async () => {
  const { ended, stderr } = run([
    "--http.port=0",
    "--grpc.port=0",
    "--control.port=0",
    "--control.host=0.0.0.0",
  ])
  expect(await ended).toEqual([1, null])
  expect(stderr()).toContain("[LISTEN_UNSAFE]")
  const tokens = JSON.stringify([{ name: "ann", role: "admin", token: "a-token-that-is-long-enough" }])
  const service = await start(["--control.host=0.0.0.0"], { SLUICE_CONTROL__TOKENS: tokens })
  const url = `http://127.0.0.1:${service.addresses.control?.split(":")[1]}/rules`
  expect((await fetch(url)).status).toBe(401)
  const headers = { authorization: "Bearer a-token-that-is-long-enough" }
  expect((await fetch(url, { headers })).status).toBe(200)
})

it("shows the counts of all workers in the metrics of the control plane", async () => {
  const service = await start(["--workers=2", "--rules.file", rulesFile(10)])
  expect((await askMany(service, 4, 10)).allowed).toBe(10)
  const metrics = async () => await (await fetch(`http://${service.addresses.control}/metrics`)).text()
  await eventually(async () => {
    const text = await metrics()
    return (
      text.includes('sluice_allowed_total{rule="all"} 10\n') &&
      text.includes('sluice_denied_total{rule="all"} 30\n')
    )
  })
  const top = await (await fetch(`http://${service.addresses.control}/top?by=denied`)).json()
  expect(top).toMatchObject([{ rule: "all", key: "user:ann", count: 30 }])
})

/** Applies a rule set with this limit through the control plane, whatever rules are in force. */
async function putRules({ addresses }: Running, limit: number): Promise<number> {
  const url = `http://${addresses.control}/rules`
  const etag = (await fetch(url)).headers.get("etag") as string
  const rules = [
    { id: "all", keyBy: "user", limits: [{ algorithm: "sliding-window-log", limit, window: "1h" }] },
  ]
  const response = await fetch(url, {
    method: "PUT",
    headers: { "content-type": "application/json", "if-match": etag },
    body: JSON.stringify({ version: 1, rules }),
  })
  if (!response.ok) throw new Error(await response.text())
  return response.status
}
