import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterEach, beforeAll, beforeEach, expect, it, vi } from "vitest"
import { eventually } from "../../../../../test/support/eventually.js"
import { connectionsTo } from "../../../../../test/support/http-client.js"
import {
  buildServer,
  killAll,
  type Running,
  run,
  start,
} from "../../../../../test/support/service-process.js"

// Each test starts processes, on a machine that may be busy.
vi.setConfig({ testTimeout: 60_000 })

let folder: string
let file: string

beforeAll(buildServer, 60_000)

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "sluice-workers-"))
  file = join(folder, "rules.yaml")
})

afterEach(() => {
  killAll()
  rmSync(folder, { recursive: true })
})

function writeRules(limit: number): void {
  const limits = `[{ algorithm: sliding-window-log, limit: ${limit}, window: 1h }]`
  writeFileSync(file, `version: 1\nrules:\n  - { id: all, keyBy: user, limits: ${limits} }\n`)
}

/** Asks over so many connections at once, which go to the workers in turn. */
async function askMany({ url }: Running, connections: number, each: number): Promise<number> {
  const clients = connectionsTo(url, connections)
  const allowed = await Promise.all(
    clients.map(async (client) => {
      let passed = 0
      for (let i = 0; i < each; i++) {
        const { status, body } = await client.post("/v1/check", '{"user":"ann"}')
        expect(status).toBe(200)
        if (JSON.parse(body).allowed) passed++
      }
      client.close()
      return passed
    }),
  )
  return allowed.reduce((sum, count) => sum + count, 0)
}

/** The processes that have denied something, by what they logged. */
function deniers({ logged }: Running): Set<unknown> {
  return new Set(logged().flatMap(({ msg, pid }) => (msg === "denied" ? [pid] : [])))
}

/** Asks for a key that has nothing left until so many processes have denied it, and returns them. */
async function untilDenied(service: Running, processes: number): Promise<unknown[]> {
  return eventually(
    async () => {
      expect(await askMany(service, 8, 2)).toBe(0)
      const found = deniers(service)
      return found.size === processes ? [...found] : undefined
    },
    { within: 15_000, what: `${processes} processes have denied` },
  )
}

/** The processes that a process has started. */
function childrenOf(pid: number | undefined): string[] {
  return readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8").split(" ").filter(Boolean)
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}

it("holds that one worker has given, any worker extends and releases", async () => {
  const limits = "[{ algorithm: concurrency, limit: 3, hold: 1h }]"
  writeFileSync(file, `version: 1\nrules:\n  - { id: all, keyBy: user, limits: ${limits} }\n`)
  const { url } = await start(["--workers", "2", "--rules", file])
  const clients = connectionsTo(url, 8)
  const post = async (i: number, path: string, body: object) => {
    const { status, body: text } = await (clients[i % 8] as (typeof clients)[number]).post(
      path,
      JSON.stringify(body),
    )
    expect(status).toBe(200)
    return JSON.parse(text)
  }
  const all = Array.from({ length: 16 }, (_, i) => i)
  const acquired = await Promise.all(all.map((i) => post(i, "/v1/acquire", { user: "ann" })))
  const holds = acquired.filter(({ allowed }) => allowed).map(({ hold }) => hold)
  expect(holds.length).toBe(3)
  const [first, ...others] = holds
  for (const i of all) expect(await post(i, "/v1/extend", { hold: first })).toEqual({ extended: true })
  const released = await Promise.all(all.map((i) => post(i, "/v1/release", { hold: first })))
  expect(released.filter((answer) => answer.released).length).toBe(1)
  for (const [i, hold] of others.entries())
    expect(await post(i, "/v1/release", { hold })).toEqual({ released: true })
  expect(await post(0, "/v1/acquire", { user: "ann", cost: 3 })).toMatchObject({ allowed: true })
  for (const client of clients) client.close()
})

it("a reservation that one worker has made, any worker settles, and one of them does", async () => {
  writeRules(1_000)
  const { url } = await start(["--workers", "2", "--rules", file])
  const clients = connectionsTo(url, 8)
  const ask = async (client: (typeof clients)[number], path: string, body: object) => {
    const { status, body: text } = await client.post(path, JSON.stringify(body))
    expect(status).toBe(200)
    return JSON.parse(text)
  }
  const [first] = clients as [(typeof clients)[number]]
  const { reservation } = await ask(first, "/v1/reserve", { user: "ann", cost: 400 })
  const settled = await Promise.all(
    clients.map((client) => ask(client, "/v1/settle", { reservation, cost: 150 })),
  )
  expect(settled).toEqual(clients.map(() => ({ settled: true })))
  expect(await ask(first, "/v1/peek", { user: "ann" })).toMatchObject({ remaining: 850 })
  for (const client of clients) client.close()
})

it("allows exactly the limit of a key over all workers", async () => {
  writeRules(300)
  const service = await start(["--workers=3", "--rules.file", file])
  expect(await askMany(service, 24, 50)).toBe(300)
  expect(await untilDenied(service, 3)).not.toContain(service.child.pid)
})

it("keeps the counters when a worker is killed, and starts another", async () => {
  writeRules(100)
  const service = await start(["--workers=2", "--rules.file", file])
  expect(await askMany(service, 8, 5)).toBe(40)
  expect(await askMany(service, 8, 15)).toBe(60)
  const [victim] = await untilDenied(service, 2)
  // In the middle of their questions: those of the victim are lost with it, the others get their answers.
  const asking = connectionsTo(service.url, 16).map(async (client) => {
    for (let i = 0; i < 50; i++) await client.post("/v1/check", '{"user":"bob"}').catch(() => {})
    client.close()
  })
  process.kill(victim as number, "SIGKILL")
  await Promise.all(asking)
  await eventually(() => service.logged().some(({ msg }) => msg === "a worker ended; starting another one"))
  await untilDenied(service, 3)
})

it("applies changed rules in every worker", async () => {
  writeRules(1)
  const service = await start(["--workers=2", "--rules.file", file])
  expect(await askMany(service, 4, 2)).toBe(1)
  writeRules(1_000)
  service.child.kill("SIGHUP")
  await eventually(() => service.logged().some(({ msg }) => msg === "reloaded"))
  // Told over the same channel as the answers to checks, so before any check that starts now is answered.
  expect(await askMany(service, 4, 50)).toBe(200)
})

it("leaves no worker behind when the primary is killed", async () => {
  writeRules(1)
  const service = await start(["--workers=2", "--rules.file", file])
  await askMany(service, 8, 2)
  const workers = await untilDenied(service, 2)
  service.child.kill("SIGKILL")
  await eventually(() => workers.every((pid) => !isAlive(pid as number)))
})

it("drains all workers on SIGTERM, drops no request, and exits with status 0", async () => {
  writeRules(1_000_000)
  const service = await start(["--workers=2", "--rules.file", file])
  let answered = 0
  const failures: unknown[] = []
  const clients = connectionsTo(service.url, 16).map(async (client) => {
    for (;;) {
      const answer = await client
        .post("/v1/check", '{"user":"ann"}')
        .catch((error: unknown) => void failures.push(error))
      if (answer === undefined) return
      answered++
      if (answer.status !== 200) failures.push(answer.status)
      if (answer.isLast) return
    }
  })
  await eventually(() => answered > 500, { within: 20_000 })
  service.child.kill("SIGTERM")
  await Promise.all(clients)
  expect(failures).toEqual([])
  expect(await service.ended).toEqual([0, null])
})

it("does not wait on SIGTERM for a worker that is starting", async () => {
  writeRules(1)
  const service = await start(["--workers=2", "--rules.file", file])
  await askMany(service, 8, 2)
  const [victim] = await untilDenied(service, 2)
  const before = new Set(childrenOf(service.child.pid))
  process.kill(victim as number, "SIGKILL")
  await eventually(() => childrenOf(service.child.pid).some((pid) => !before.has(pid)), { every: 1 })
  const started = performance.now()
  service.child.kill("SIGTERM")
  expect(await service.ended).toEqual([0, null])
  // The deadline of 10 s, and two more, if it were waited for.
  expect(performance.now() - started).toBeLessThan(8_000)
})

it("reports once why a worker cannot start, and exits with status 1", async () => {
  const { url } = await start()
  const { ended, stderr } = run([
    "--workers=2",
    "--http.port",
    new URL(url).port,
    "--grpc.port=0",
    "--control.port=0",
  ])
  expect(await ended).toEqual([1, null])
  expect(stderr().match(/is taken by another program/g)).toHaveLength(1)
  expect(stderr()).not.toContain("    at ")
})
