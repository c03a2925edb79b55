import { once } from "node:events"
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { createServer as createHttpsServer } from "node:https"
import { type AddressInfo, createServer as createNetServer } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { memoryStore } from "sluice"
import { createRuleEngine, objectRules } from "sluice/rules"
import { describe, expect, it } from "vitest"
import { type ConfigInput, configSchema } from "../../packages/server/src/config/schema.js"
import { startGateway } from "../../packages/server/src/gateway/start-gateway.js"
import { makeCertificate } from "../support/certificate.js"
import { eventually } from "../support/eventually.js"
import { LOOPBACK } from "../support/ports.js"
import { afterThis, openBackend } from "./bed.js"

type Settings = NonNullable<ConfigInput["gateway"]>

function settingsOf(gateway: Settings) {
  return configSchema.parse({ gateway: { port: 0, accessLog: { format: "off" }, ...gateway } }).gateway
}

async function open(gateway: Settings, limits: readonly object[] = []) {
  const store = memoryStore()
  const rules = objectRules({ version: 1, rules: limits.length === 0 ? [] : [{ id: "all", limits }] })
  const engine = createRuleEngine({ rules, store })
  let decided = 0
  const core = { engine, rules, store, watch: { decided: () => void decided++ } }
  const bounds = configSchema.parse({}).limits
  const started = await startGateway(core, { settings: settingsOf(gateway), limits: bounds })
  afterThis(() => started.close(0))
  return {
    url: `http://${started.address}`,
    reload: (next: Settings) => started.reload(settingsOf(next)),
    /** How many requests the rules have decided about. */
    decided: () => decided,
  }
}

function folder(): string {
  const path = mkdtempSync(join(tmpdir(), "sluice-upstreams-"))
  afterThis(() => rmSync(path, { recursive: true }))
  return path
}

/** A backend that answers with its name. */
async function named(name: string) {
  const backend = await openBackend((_request, response) => response.end(name))
  return { ...backend, origin: `http://${LOOPBACK}:${backend.port}` }
}

/** An address on which nothing listens. */
async function nobody(): Promise<string> {
  const server = createNetServer()
  server.listen(0, LOOPBACK)
  await once(server, "listening")
  const { port } = server.address() as AddressInfo
  server.close()
  await once(server, "close")
  return `http://${LOOPBACK}:${port}`
}

async function bodies(url: string, count: number): Promise<string> {
  let all = ""
  for (let i = 0; i < count; i++) all += await (await fetch(url)).text()
  return all
}

describe("several targets", () => {
  it("receive requests in turn", async () => {
    const [a, b] = [await named("a"), await named("b")]
    const { url } = await open({ upstream: [a.origin, b.origin] })
    expect(await bodies(url, 6)).toBe("ababab")
  })

  it("receive requests by their load with least connections", async () => {
    const slow = await openBackend(() => {})
    const b = await named("b")
    const targets = [`http://${LOOPBACK}:${slow.port}`, b.origin]
    const { url } = await open({ upstreams: { u: { targets, balance: "least-connections" } } })
    const stop = new AbortController()
    const hanging = fetch(url, { signal: stop.signal })
    hanging.catch(() => {})
    await eventually(() => slow.seen.length === 1)
    expect(await bodies(url, 5)).toBe("bbbbb")
    stop.abort()
  })

  it("lose no request when one of them fails, and it then receives none", async () => {
    const [a, b] = [await named("a"), await named("b")]
    const { url } = await open({
      upstreams: { u: { targets: [a.origin, b.origin], ejection: { failures: 2, for: "1h" } } },
    })
    expect(await bodies(url, 4)).toBe("abab")
    a.server.close()
    a.server.closeAllConnections()
    expect(await bodies(url, 4)).toBe("bbbb")
    // Back, but not for an hour.
    a.server.listen(a.port, LOOPBACK)
    await once(a.server, "listening")
    expect(await bodies(url, 6)).toBe("bbbbbb")
  })
})

describe("health checks", () => {
  it("send no requests to an unhealthy target, and send them again once it is healthy", async () => {
    let status = 500
    const a = await openBackend((request, response) => {
      response.statusCode = request.url === "/healthz" ? status : 200
      response.end("a")
    })
    const b = await named("b")
    const health = { path: "/healthz", interval: 5, healthyAfter: 1 }
    const targets = [`http://${LOOPBACK}:${a.port}`, b.origin]
    const { url } = await open({ upstreams: { u: { targets, health } } })
    expect(await bodies(url, 4)).toBe("bbbb")
    status = 200
    await eventually(async () => (await bodies(url, 2)).includes("a"))
  })

  it("answer 503 at once when no target is healthy", async () => {
    const upstream = { targets: [await nobody(), await nobody()], health: { path: "/", interval: "1h" } }
    const { url } = await open({ upstreams: { u: upstream } })
    const response = await fetch(url)
    expect([response.status, response.headers.get("content-type")]).toEqual([503, "application/problem+json"])
    expect(await response.json()).toMatchObject({ code: "UPSTREAM_UNAVAILABLE" })
  })
})

describe("routes", () => {
  it("send each host and path to its own upstream, with the prefix or without", async () => {
    const [a, b] = [await named("a"), await named("b")]
    const { url } = await open({
      upstreams: { a: { targets: [a.origin] }, b: { targets: [b.origin] } },
      routes: [
        { path: "/", upstream: "a" },
        { path: "/b", upstream: "b", stripPrefix: true },
        { path: "/b/kept", upstream: "b" },
      ],
    })
    expect(await bodies(`${url}/x`, 1)).toBe("a")
    for (const path of ["/b", "/b/", "/b/x?y=1", "/b/kept/z", "/bb"]) await fetch(url + path)
    expect(b.seen).toEqual(["GET /", "GET /", "GET /x?y=1", "GET /b/kept/z"])
    expect(a.seen).toEqual(["GET /x", "GET /bb"])
  })
})

describe("an https upstream", () => {
  it("is reached if its certificate is valid, and causes a 502 otherwise", async () => {
    const certificate = makeCertificate(["upstream.test"])
    const server = createHttpsServer(certificate, (request, response) => response.end(request.headers.host))
    server.listen(0, LOOPBACK)
    await once(server, "listening")
    afterThis(() => {
      server.closeAllConnections()
      server.close()
    })
    const target = `https://${LOOPBACK}:${(server.address() as AddressInfo).port}`
    const ca = join(folder(), "ca.pem")
    writeFileSync(ca, certificate.cert)
    const askWith = async (tls: { ca?: string; serverName?: string }) => {
      const { url } = await open({ upstreams: { u: { targets: [target], tls } } })
      const response = await fetch(url)
      return [response.status, await response.text()]
    }
    // The gateway sends the Host of the upstream, which does not know the client's.
    expect(await askWith({ ca, serverName: "upstream.test" })).toEqual([200, new URL(target).host])
    expect((await askWith({ serverName: "upstream.test" }))[0]).toBe(502)
    expect((await askWith({ ca }))[0]).toBe(502)
  })
})

describe("a reload", () => {
  it("uses the new settings of the access log", async () => {
    const a = await named("a")
    const [first, second] = [join(folder(), "first.log"), join(folder(), "second.log")]
    const upstream = [a.origin]
    const { url, reload } = await open({ upstream, accessLog: { file: first } })
    await bodies(`${url}/one`, 1)
    await reload({ upstream, accessLog: { file: second, format: "combined" } })
    await bodies(`${url}/two`, 1)
    await eventually(() => readFileSync(second, "utf8").includes('"GET /two HTTP/1.1" 200 1 '))
    expect(JSON.parse(readFileSync(first, "utf8"))).toMatchObject({ path: "/one" })
    await reload({ upstream, accessLog: { format: "off" } })
    await bodies(url, 1)
  })

  it("lets a delayed request proceed to its old upstream", async () => {
    const [a, b] = [await named("a"), await named("b")]
    const queue = { algorithm: "leaky-bucket", overflow: "queue", limit: 1, window: "300ms", burst: 5 }
    const { url, reload, decided } = await open({ upstream: [a.origin] }, [queue])
    expect(await bodies(url, 1)).toBe("a")
    const held = bodies(url, 1)
    await eventually(() => decided() === 2)
    // It is answered at its turn. Meanwhile the reload removes its upstream from the settings.
    await reload({ upstream: [b.origin] })
    expect(await held).toBe("a")
    expect(await bodies(url, 1)).toBe("b")
  })

  it("does not turn TLS on or off", async () => {
    const a = await named("a")
    const { url, reload } = await open({ upstream: [a.origin] })
    await expect(reload({ upstream: [a.origin], tls: { cert: "c", key: "k" } })).rejects.toThrow(
      "gateway.tls: cannot be added or removed while the gateway runs",
    )
    expect(await bodies(url, 1)).toBe("a")
  })

  it("changes nothing when the new log cannot be written", async () => {
    const [a, b] = [await named("a"), await named("b")]
    const { url, reload } = await open({ upstream: [a.origin] })
    const file = join(folder(), "none", "access.log")
    await expect(reload({ upstream: [b.origin], accessLog: { format: "json", file } })).rejects.toThrow(
      "ACCESS_LOG_IO",
    )
    expect(await bodies(url, 1)).toBe("a")
  })
})

it("does not start, and leaves nothing behind, when its certificate cannot be used", async () => {
  const a = await named("a")
  await expect(open({ upstream: [a.origin], tls: { cert: "/none", key: "/none" } })).rejects.toThrow(
    "CERTIFICATE_INVALID",
  )
})
