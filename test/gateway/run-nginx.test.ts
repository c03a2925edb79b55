import { afterEach, beforeAll, describe, expect, it } from "vitest"
import { ask } from "../service/proxy.js"
import { LOOPBACK, reservePort } from "../support/ports.js"
import { buildServer, killAll, start } from "../support/service-process.js"
import { afterThis, openBackend, openGateway } from "./bed.js"
import { openNginx } from "./nginx.js"
import { loadWithWrk } from "./wrk.js"

beforeAll(buildServer, 60_000)
afterEach(killAll)

describe("nginx as the upstream", () => {
  it("has its answers relayed unchanged: HEAD, 204, 304, ranges, its own 404", async () => {
    const nginx = await openNginx("location /empty { return 204; }", {
      files: { "page.txt": "0123456789".repeat(1_000) },
    })
    const { port } = await openGateway({ upstream: nginx })
    for (const [asked, status] of [
      [{ path: "/page.txt" }, 200],
      [{ path: "/page.txt", method: "HEAD" }, 200],
      [{ path: "/page.txt", headers: { range: "bytes=10-19" } }, 206],
      [{ path: "/page.txt", headers: { range: "bytes=99999-" } }, 416],
      [{ path: "/empty" }, 204],
      [{ path: "/missing" }, 404],
      [{ path: "/page.txt", method: "POST", body: "x" }, 405],
    ] as const) {
      const [direct, through] = [await ask(nginx.port, asked), await ask(port, asked)]
      expect(through.status).toBe(status)
      expect([through.status, through.body]).toEqual([direct.status, direct.body])
      for (const name of [
        "content-length",
        "content-type",
        "content-range",
        "etag",
        "last-modified",
        "server",
      ])
        expect([name, through.headers[name]]).toEqual([name, direct.headers[name]])
    }
    const { etag = "" } = (await ask(port, { path: "/page.txt" })).headers
    const known = await ask(port, { path: "/page.txt", headers: { "if-none-match": etag } })
    expect([known.status, known.body, known.headers.etag]).toEqual([304, "", etag])
  })

  it("may close a kept connection after a few requests without a failed request", async () => {
    const nginx = await openNginx('keepalive_requests 3; location / { return 200 "ok"; }')
    const { url } = await openGateway({ upstream: nginx })
    const statuses = new Map<number, number>()
    await Promise.all(
      Array.from({ length: 8 }, async () => {
        for (let i = 0; i < 100; i++) {
          const { status } = await fetch(url)
          statuses.set(status, (statuses.get(status) ?? 0) + 1)
        }
      }),
    )
    expect([...statuses]).toEqual([[200, 800]])
  })
}, 60_000)

describe("nginx in front", () => {
  const THREE = `
version: 1
identity: { trustedProxies: [127.0.0.1/32] }
rules:
  - { id: per-address, keyBy: ip, limits: [{ algorithm: sliding-window-log, limit: 3, window: 1h }] }
`
  it("is a trusted proxy: each client has its own limit, and cannot choose another", async () => {
    const backend = await openBackend((asked, response) => response.end(asked.headers["x-forwarded-for"]))
    const gateway = await openGateway({ upstream: backend, rules: THREE })
    // The client's address is a header here, since all clients of this test have the same.
    const nginx = await openNginx(`location / {
      proxy_pass http://127.0.0.1:${gateway.port};
      proxy_http_version 1.1;
      proxy_set_header Connection "";
      proxy_set_header X-Forwarded-For "$http_x_forwarded_for, $http_x_client";
    }`)
    const from = async (client: string, claimed: string) => {
      const headers = { "x-client": client, "x-forwarded-for": claimed }
      return (await ask(nginx.port, { headers })).status
    }
    const statuses: number[] = []
    for (let i = 0; i < 5; i++) statuses.push(await from("203.0.113.7", `198.51.100.${i}`))
    expect(statuses).toEqual([200, 200, 200, 429, 429])
    expect(await from("203.0.113.8", "203.0.113.7")).toBe(200)
  })

  it("sees no failure while two gateways behind it are restarted, one after the other", async () => {
    const backend = await openBackend()
    const ports = [await reservePort(), await reservePort()]
    for (const port of ports) afterThis(() => port.release())
    const startOn = (port: number) =>
      start([
        ...["gateway", "--upstream", `http://${LOOPBACK}:${backend.port}`, `--gateway.port=${port}`],
        "--gateway.accessLog.format=off",
      ])
    const gateways = await Promise.all(ports.map(({ port }) => startOn(port)))
    const nginx = await openNginx(
      'location / { proxy_pass http://gateways; proxy_http_version 1.1; proxy_set_header Connection ""; }',
      {
        http: `upstream gateways { ${ports.map(({ port }) => `server 127.0.0.1:${port} max_fails=0;`).join(" ")} keepalive 16; }`,
      },
    )
    const load = loadWithWrk(`http://${LOOPBACK}:${nginx.port}/`, 8)
    for (const [i, { port }] of ports.entries()) {
      gateways[i]?.child.kill("SIGTERM")
      expect(await gateways[i]?.ended).toEqual([0, null])
      await startOn(port)
    }
    expect(await load.stop()).toEqual([])
    expect(backend.seen.length).toBeGreaterThan(500)
  })
}, 60_000)
