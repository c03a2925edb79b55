import { once } from "node:events"
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { Agent, get, type IncomingMessage } from "node:http"
import { connect } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { text } from "node:stream/consumers"
import { afterEach, beforeAll, beforeEach, describe, expect, it, vi } from "vitest"
import { eventually } from "../../../test/support/eventually.js"
import { connectionsTo } from "../../../test/support/http-client.js"
import { reservePort } from "../../../test/support/ports.js"
import { buildServer, inTerminal, killAll, run, start } from "../../../test/support/service-process.js"

// Each test starts processes, on a machine that may be busy.
vi.setConfig({ testTimeout: 60_000 })

let folder: string

beforeAll(buildServer, 60_000)

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "sluice-main-"))
})

afterEach(() => {
  killAll()
  rmSync(folder, { recursive: true })
})

const LOGIN = JSON.stringify({ method: "POST", path: "/login", ip: "203.0.113.7" })

function rulesOf(limit: number): string {
  return `version: 1\nrules:\n  - { id: all, limits: [{ algorithm: sliding-window-log, limit: ${limit}, window: 1h }] }\n`
}

/** A file of the test's own. */
function write(name: string, content: string): string {
  const path = join(folder, name)
  writeFileSync(path, content)
  return path
}

async function check(url: string, body = LOGIN): Promise<Response> {
  return await fetch(`${url}/v1/check?status=429`, { method: "POST", body })
}

it("allows five sign-ins by the example rules and denies the sixth, as it prints at the start", async () => {
  const { url, stdout } = await start()
  const line = await eventually(() => /curl -i '(\S+)' -d '(.+)'/.exec(stdout()))
  expect(line[1]).toBe(`${url}/v1/check?status=429`)
  const statuses: number[] = []
  for (let i = 0; i < 6; i++) statuses.push((await check(url, line[2])).status)
  expect(statuses).toEqual([200, 200, 200, 200, 200, 429])
})

it("serves the dashboard at the address that it prints", async () => {
  const { stdout } = await start()
  const [, url] = await eventually(() => /dashboard +(http:\S+)/.exec(stdout()))
  const page = await (await fetch(String(url))).text()
  const [, script] = /<script type="module" crossorigin src="\.(\/assets\/\S+\.js)"/.exec(page) ?? []
  expect((await fetch(`${url}${script}`)).status).toBe(200)
})

it("prints its configuration without secrets, its settings and its version, and exits", async () => {
  const printed = run(["--print-config", "--secret", "hunter2"])
  expect(await printed.ended).toEqual([0, null])
  expect(printed.stdout()).toContain('secret: "***"')
  const help = run(["--help"])
  expect(await help.ended).toEqual([0, null])
  expect(help.stdout()).toContain("--store.max-keys")
  const version = run(["--version"])
  expect(await version.ended).toEqual([0, null])
  expect(version.stdout()).toMatch(/^\d+\.\d+\.\d+\n$/)
})

describe("an error at the start", () => {
  it("is reported with every mistake, without a stack, and status 1", async () => {
    const { ended, stderr } = run(["--http.prt", "1", "--workers", "0"])
    expect(await ended).toEqual([1, null])
    expect(stderr()).toContain("--http.prt does not exist; did you mean --http.port?")
    expect(stderr()).toContain("--workers workers must be at least 1, got 0")
    expect(stderr()).not.toContain("    at ")
  })

  it("is reported once for a misspelt flag", async () => {
    const { ended, stderr } = run(["gateway", "--upstrem", "http://127.0.0.1:1"])
    expect(await ended).toEqual([1, null])
    expect(stderr()).toBe(
      "configuration: 1 mistake\n  --upstrem does not exist; did you mean --upstream?\n [CONFIG_INVALID]\n",
    )
  })

  it("is reported when the rules file does not exist", async () => {
    const { ended, stderr } = run(["--http.port=0", "--rules.file", join(folder, "nope.yaml")])
    expect(await ended).toEqual([1, null])
    expect(stderr()).toBe(`${join(folder, "nope.yaml")}: does not exist [RULES_IO]\n`)
    const inRedis = ["--rules.redis.enabled", "--rules.redis.url=redis://127.0.0.1:1"]
    const other = run(["--http.port=0", "--rules.file", join(folder, "nope.yaml"), ...inRedis])
    expect(await other.ended).toEqual([1, null])
    expect(other.stderr()).toBe(`${join(folder, "nope.yaml")}: does not exist [RULES_IO]\n`)
  })

  it("is reported when the rules are invalid", async () => {
    const file = write(
      "rules.yaml",
      "version: 1\nrules:\n  - { id: a, limits: [{ limit: 0, window: 1m }] }\n",
    )
    const { ended, stderr } = run(["--http.port=0", "--rules.file", file])
    expect(await ended).toEqual([1, null])
    expect(stderr()).toContain("limits[0].limit must be an integer ≥ 1, got 0")
    expect(stderr()).not.toContain("    at ")
  })

  it("is reported when the port is in use, with what to do", async () => {
    // Below the ports that the system gives to others, so that nobody takes the advised port in between.
    const { port, release } = await reservePort()
    const ports = ["--grpc.port=0", "--control.port=0", "--http.port", String(port)]
    await start(["--http.port", String(port)])
    const { ended, stderr } = run(ports, { npm_lifecycle_event: "start" })
    expect(await ended).toEqual([1, null])
    expect(stderr()).toContain("is taken by another program")
    const advice = /npm start -- (.*)/.exec(stderr())?.[1] as string
    expect(advice).toMatch(/^--grpc.port=0 --control.port=0 --http.port \d+$/)
    const again = run(advice.split(" "))
    await eventually(() => again.logged().some(({ msg }) => msg === "ready"))
    await release()
  })
})

describe("a control plane without configured tokens", () => {
  const ports = (port: number) => ["--http.port=0", "--grpc.port=0", `--control.port=${port}`]
  const surroundings = () => ({ SLUICE_CONTROL__OPEN: "false", XDG_STATE_HOME: folder })

  it("requires a token that it generated, keeps it over a restart, and does not print it when output is not a terminal", async () => {
    const { port, release } = await reservePort()
    const url = `http://127.0.0.1:${port}`
    let token: string | undefined
    for (let i = 0; i < 2; i++) {
      const { child, stdout, ended, logged } = run(ports(port), surroundings())
      await eventually(() => logged().some(({ msg }) => msg === "ready"))
      const file = await eventually(() => /its token +(\S+)/.exec(stdout())?.[1])
      const kept = readFileSync(String(file), "utf8").trim()
      token ??= kept
      expect(kept).toBe(token)
      expect(stdout()).not.toContain(token)
      expect((await fetch(`${url}/rules`)).status).toBe(401)
      const headers = { authorization: `Bearer ${token}` }
      expect((await fetch(`${url}/rules`, { headers })).status).toBe(200)
      child.kill("SIGTERM")
      await ended
    }
    await release()
  })

  it("refuses requests through a proxy that sends no forwarded headers, as nginx does by default", async () => {
    const { addresses } = await start([], surroundings())
    const [host, port] = (addresses.control as string).split(":")
    const socket = connect(Number(port), host)
    // What `proxy_pass http://127.0.0.1:9090;` sends for whoever asks.
    socket.end(
      `DELETE /rules/login HTTP/1.0\r\nHost: ${host}:${port}\r\nConnection: close\r\nIf-Match: *\r\n\r\n`,
    )
    expect(await text(socket)).toMatch(/^HTTP\/1\.1 401 /)
  })

  it("prints a link that opens the dashboard, in a terminal", async () => {
    const shown = inTerminal(ports(0), surroundings())
    const link = await eventually(() => /dashboard +(http:\S+)\/#token=(\S+)/.exec(shown.output()))
    const headers = { authorization: `Bearer ${link[2]}` }
    const session = await (await fetch(`${link[1]}/session`, { headers })).json()
    expect(session).toEqual({ name: "local", role: "admin", byToken: true })
    shown.type("\u0003")
    await shown.ended
  })
})

describe("in a terminal", () => {
  it("prints its addresses, and logs in readable lines", async () => {
    const file = write("rules.yaml", rulesOf(1))
    const shown = inTerminal(["--http.port=0", "--grpc.port=0", "--control.port=0", "--rules.file", file])
    const url = await eventually(() => /Sluice listens on (\S+)/.exec(shown.output())?.[1])
    expect(shown.output()).not.toContain("{")
    for (let i = 0; i < 2; i++) await check(String(url))
    await eventually(() => /^\d\d:\d\d:\d\d info {2}denied {2}.*rule=all/m.exec(shown.output()))
    shown.type("\u0003")
    await shown.ended
    expect(shown.output()).toMatch(/^\d\d:\d\d:\d\d info {2}stopped\r?$/m)
    expect(shown.output()).not.toContain('{"level"')
  })
})

describe("signals", () => {
  it("SIGINT ends live events first, including those of clients that reconnect at once", async () => {
    const { child, ended, addresses } = await start()
    const agent = new Agent({ keepAlive: true, maxSockets: 1 })
    const listen = async () => {
      const asked = get(`http://${addresses.control}/events`, { agent })
      const [response] = (await once(asked, "response")) as [IncomingMessage]
      response.resume()
      return response
    }
    const first = await listen()
    const over = once(first, "end").then(listen)
    over.catch(() => {})
    const started = performance.now()
    child.kill("SIGINT")
    expect(await ended).toEqual([0, null])
    // With streams that stay it takes the deadline of 10 s, and a second of last calls.
    expect(performance.now() - started).toBeLessThan(5_000)
    agent.destroy()
  })

  it.each(["SIGTERM", "SIGINT"] as const)(
    "exits with status 0 on %s, even when it comes twice at once",
    async (signal) => {
      const { child, ended, url } = await start()
      await fetch(`${url}/livez`)
      child.kill(signal)
      child.kill(signal)
      expect(await ended).toEqual([0, null])
    },
  )

  it("SIGTERM under load drops no request", async () => {
    const { child, ended, url } = await start(["--rules.file", write("rules.yaml", rulesOf(1_000_000))])
    let answered = 0
    const failures: unknown[] = []
    // Each client keeps one connection, and stops when it is told that it was closed.
    const clients = connectionsTo(url, 32).map(async (client) => {
      for (;;) {
        const answer = await client
          .post("/v1/check", LOGIN)
          .catch((error: unknown) => void failures.push(error))
        if (answer === undefined) return
        answered++
        if (answer.status !== 200) failures.push(answer.status)
        if (answer.isLast) return
      }
    })
    await eventually(() => answered > 1_000, { within: 20_000 })
    child.kill("SIGTERM")
    await Promise.all(clients)
    expect(failures).toEqual([])
    expect(await ended).toEqual([0, null])
  })

  it("logs in one line that the counters could not be saved, and exits with status 1", async () => {
    mkdirSync(join(folder, "state"))
    const snapshot = join(folder, "state", "limits")
    const { child, ended, stderr, logged } = await start(["--store.snapshot", snapshot])
    rmSync(join(folder, "state"), { recursive: true })
    child.kill("SIGTERM")
    expect(await ended).toEqual([1, null])
    const line = logged().find(({ code }) => code === "SNAPSHOT_IO")
    expect(line?.error).toContain(`${snapshot}: could not be written: ENOENT`)
    // Nothing but lines of JSON.
    expect(stderr().trimEnd().split("\n")).toHaveLength(logged().length)
  })

  it("is not ready while it drains, and still answers", async () => {
    const { child, ended, url } = await start(["--drain.delay=1s"])
    expect((await fetch(`${url}/readyz`)).status).toBe(200)
    child.kill("SIGTERM")
    await eventually(async () => (await fetch(`${url}/readyz`)).status === 503)
    expect((await check(url)).status).toBe(200)
    expect((await fetch(`${url}/livez`)).status).toBe(200)
    expect(await ended).toEqual([0, null])
  })

  it("exits at once on a second SIGTERM", async () => {
    const { child, ended, url, logged } = await start(["--drain.deadline=1h"])
    const socket = connect(Number(new URL(url).port), "127.0.0.1")
    socket.on("error", () => {})
    await once(socket, "connect")
    // A request that never ends.
    socket.write("POST /v1/check HTTP/1.1\r\nhost: x\r\ncontent-length: 10\r\n\r\n")
    await fetch(`${url}/livez`)
    child.kill("SIGTERM")
    await eventually(() => logged().some(({ msg }) => msg === "draining"))
    await eventually(() => child.exitCode !== null || !child.kill("SIGTERM"), { every: 100 })
    expect(await ended).toEqual([143, null])
    socket.destroy()
  })

  it("SIGHUP loads a changed file, and keeps the last valid rules if the file is invalid", async () => {
    const file = write("rules.yaml", rulesOf(5))
    const { child, url, logged } = await start(["--rules.file", file])
    const limit = async () => ((await (await check(url)).json()) as { limit: number }).limit
    expect(await limit()).toBe(5)
    writeFileSync(file, rulesOf(50))
    child.kill("SIGHUP")
    await eventually(() => logged().some(({ msg, revision }) => msg === "reloaded" && revision === 2))
    expect(await limit()).toBe(50)
    writeFileSync(file, "rules: what?\n")
    child.kill("SIGHUP")
    await eventually(() => logged().some(({ code }) => code === "RULES_INVALID"))
    expect(await limit()).toBe(50)
  })
})

it("counts an API key under the same hash after a restart", async () => {
  const rules =
    "version: 1\nrules:\n  - { id: all, keyBy: apiKey, limits: [{ limit: 2, window: 1h, algorithm: sliding-window-log }] }\n"
  const args = ["--rules.file", write("rules.yaml", rules), "--store.snapshot", join(folder, "counters")]
  const remaining = async (url: string) =>
    ((await (await check(url, '{"apiKey":"sk_1"}')).json()) as { remaining: number }).remaining
  const first = await start(args)
  expect(await remaining(first.url)).toBe(1)
  first.child.kill("SIGTERM")
  await first.ended
  const second = await start(args)
  expect(await remaining(second.url)).toBe(0)
})
