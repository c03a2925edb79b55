import { createServer } from "node:net"
import { importEnvoyConfig } from "sluice/rules"
import { afterAll, describe, expect, it } from "vitest"
import { stringify } from "yaml"
import { startBed } from "../service/bed.js"
import type { Answer } from "../service/proxy.js"
import { afterThis } from "../support/after-this.js"
import { eventually } from "../support/eventually.js"
import { reservePort } from "../support/ports.js"
import { saveRecordings, start, startEdge, startInstance } from "./bed.js"
import { endpoints, shownOnPage, typed } from "./envoy.js"

afterAll(saveRecordings)

const header = (name: string, key: string, more = {}) => ({
  request_headers: { header_name: name, descriptor_key: key, ...more },
})
const byUser = { actions: [header("x-user", "user")] }
const byTenant = { actions: [header("x-tenant", "tenant")] }

const RULES = `
version: 1
rules:
  - id: per-user
    match: { domain: edge, descriptor: [{ key: user }] }
    keyBy: descriptor
    limits: [{ algorithm: fixed-window, limit: 2, window: 1m }]
`

describe("decisions", () => {
  it("limits what passes through Envoy per user, with Envoy's own headers made of our numbers", async () => {
    const { advance, sluice, seen, get, statusesOf } = await start(RULES, { rateLimits: [byUser] })
    expect(await statusesOf("ann", 3)).toEqual([200, 200, 429])
    expect((await get("/items", { "x-user": "bob" })).status).toBe(200)
    const denied = await get("/items", { "x-user": "ann" })
    expect(denied.headers["x-envoy-ratelimited"]).toBe("true")
    expect(denied.headers["x-ratelimit-limit"]).toMatch(/^2, 2;w=60/)
    expect(denied.headers["x-ratelimit-remaining"]).toBe("0")
    expect(Number(denied.headers["x-ratelimit-reset"])).toBeGreaterThan(0)
    expect(Number(denied.headers["x-ratelimit-reset"])).toBeLessThanOrEqual(60)
    expect(seen.filter(({ url }) => url === "/items")).toHaveLength(3)
    advance(60_000)
    expect((await get("/items", { "x-user": "ann" })).status).toBe(200)
    expect(sluice.errors).toEqual([])
  })

  it("charges what Envoy says a request costs", async () => {
    const rateLimits = [{ ...byUser, hits_addend: { number: 4 } }]
    const { statusesOf } = await start(RULES.replace("limit: 2", "limit: 10"), { rateLimits })
    expect(await statusesOf("ann", 3)).toEqual([200, 200, 429])
  })

  it("charges what a header of the request costs", async () => {
    const rateLimits = [{ ...byUser, hits_addend: { format: "%REQ(X-COST)%" } }]
    const { get } = await start(RULES.replace("limit: 2", "limit: 10"), { rateLimits })
    const cost = async (cost: string) => (await get("/items", { "x-user": "ann", "x-cost": cost })).status
    expect([await cost("7"), await cost("4"), await cost("3"), await cost("1")]).toEqual([200, 429, 200, 429])
  })

  it("decides by an imported configuration of envoyproxy/ratelimit: nested, with a value of its own, and unlimited", async () => {
    const { document } = importEnvoyConfig(`
domain: edge
descriptors:
  - key: generic_key
    value: api
    descriptors:
      - key: user
        rate_limit: { unit: minute, requests_per_unit: 2 }
      - key: user
        value: vip
        rate_limit: { unlimited: true }
      - key: user
        value: slow
        rate_limit: { unit: hour, requests_per_unit: 1 }
`)
    const nested = { actions: [{ generic_key: { descriptor_value: "api" } }, ...byUser.actions] }
    const { statusesOf } = await start(stringify(document), { rateLimits: [nested] })
    expect(await statusesOf("ann", 4)).toEqual([200, 200, 429, 429])
    expect(await statusesOf("vip", 4)).toEqual([200, 200, 200, 200])
    expect(await statusesOf("slow", 4)).toEqual([200, 429, 429, 429])
  })

  it("charges all descriptors of a request or none, and denies when one is over its limit", async () => {
    const rules = `${RULES}
  - id: per-tenant
    match: { domain: edge, descriptor: [{ key: tenant }] }
    keyBy: descriptor
    limits: [{ algorithm: fixed-window, limit: 3, window: 1h }]
`
    const { get } = await start(rules, { rateLimits: [byUser, byTenant] })
    const ask = async (user: string, tenant: string) =>
      (await get("/items", { "x-user": user, "x-tenant": tenant })).status
    expect([await ask("ann", "t"), await ask("ann", "t")]).toEqual([200, 200])
    // Of the user, which leaves the tenant its third.
    expect(await ask("ann", "t")).toBe(429)
    expect(await ask("bob", "t")).toBe(200)
    // Of the tenant, which leaves the user his second.
    expect(await ask("bob", "t")).toBe(429)
    expect(await ask("bob", "other")).toBe(200)
  })

  it("lets pass what no rule matches, without headers that promise a limit", async () => {
    const { get, decided } = await start(RULES, { rateLimits: [byUser, byTenant] })
    const before = decided.length
    for (let i = 0; i < 5; i++) {
      const { status, headers } = await get("/items", { "x-tenant": "t" })
      expect(status).toBe(200)
      expect(headers["x-ratelimit-limit"]).toBeUndefined()
    }
    expect(decided.length).toBe(before + 5)
  })

  it("is not asked about a request that makes no descriptor", async () => {
    const { get, decided } = await start(RULES, { rateLimits: [byUser] })
    const before = decided.length
    for (let i = 0; i < 3; i++) expect((await get("/items")).status).toBe(200)
    expect(decided.length).toBe(before)
  })

  it("keeps the domains of two routes apart", async () => {
    const rules = `${RULES}
  - id: admins
    match: { domain: admin, descriptor: [{ key: user }] }
    keyBy: descriptor
    limits: [{ algorithm: fixed-window, limit: 1, window: 1m }]
`
    const routes = [{ prefix: "/admin", perRoute: { domain: "admin" } }]
    const { statusesOf } = await start(rules, { rateLimits: [byUser], routes })
    expect(await statusesOf("ann", 2, "/admin")).toEqual([200, 429])
    expect(await statusesOf("ann", 3)).toEqual([200, 200, 429])
  })

  it("denies nothing by a rule in shadow mode, and tells who watches", async () => {
    const rules = RULES.replace("keyBy", "mode: shadow\n    keyBy")
    const { statusesOf, decided } = await start(rules, { rateLimits: [byUser] })
    expect(await statusesOf("ann", 4)).toEqual([200, 200, 200, 200])
    const shadows = decided.slice(-4).map(({ decision }) => decision.rules[0]?.allowed)
    expect(shadows).toEqual([true, true, false, false])
  })

  it("counts by the address that Envoy sees", async () => {
    const rules = RULES.replace("key: user", "key: remote_address")
    const { get } = await start(rules, {
      rateLimits: [{ actions: [{ remote_address: {} }] }],
      manager: { use_remote_address: true, xff_num_trusted_hops: 1 },
    })
    const from = async (address: string) => (await get("/items", { "x-forwarded-for": address })).status
    expect([await from("198.51.100.1"), await from("198.51.100.1"), await from("198.51.100.1")]).toEqual([
      200, 200, 429,
    ])
    expect(await from("198.51.100.2")).toBe(200)
  })

  it("takes the limit that Envoy brings along instead of the rule's", async () => {
    const metadata = typed("extensions.filters.http.set_metadata.v3.Config", {
      metadata: [{ metadata_namespace: "limits", value: { own: { requests_per_unit: 1, unit: "HOUR" } } }],
    })
    const { statusesOf, get } = await start(RULES, {
      rateLimits: [
        {
          ...byUser,
          limit: { dynamic_metadata: { metadata_key: { key: "limits", path: [{ key: "own" }] } } },
        },
      ],
      before: [{ name: "envoy.filters.http.set_metadata", typed_config: metadata }],
    })
    expect(await statusesOf("ann", 2)).toEqual([200, 429])
    expect((await get("/items", { "x-user": "ann" })).headers["x-ratelimit-limit"]).toMatch(/^1, 1;w=3600/)
  })

  it("adds the rule's own headers to both kinds of answer, where that is turned on", async () => {
    const rules = RULES.replace("keyBy", "headers: draft-8\n    keyBy")
    const filter = { enable_x_ratelimit_headers: undefined }
    const { get } = await start(rules, { rateLimits: [byUser], filter }, { responseHeaders: true })
    const answers: Answer[] = []
    for (let i = 0; i < 3; i++) answers.push(await get("/items", { "x-user": "ann" }))
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 429])
    expect(answers.map(({ headers }) => headers.ratelimit)).toEqual([
      expect.stringContaining("r=1"),
      expect.stringContaining("r=0"),
      expect.stringContaining("r=0"),
    ])
    expect(answers[2]?.headers["retry-after"]).toBeDefined()
    expect(answers[0]?.headers["x-ratelimit-limit"]).toBeUndefined()
  })
})

describe("when the service is away", () => {
  it("is left out by Envoy's health check while it says that it does not serve, and asked again after", async () => {
    const { sluice, decided, get } = await start(RULES, { rateLimits: [byUser] })
    sluice.setServing(false)
    await eventually(async () => {
      const before = decided.length
      return (await get("/items", { "x-user": "ann" })).status === 200 && decided.length === before
    })
    sluice.setServing(true)
    await eventually(async () => {
      const before = decided.length
      await get("/items", { "x-user": "ann" })
      return decided.length > before
    })
  })

  it.each([
    { deny: false, status: 200 },
    { deny: true, status: 500 },
  ])("answers $status when it has gone and failure_mode_deny is $deny", async ({ deny, status }) => {
    const filter = { failure_mode_deny: deny }
    const { sluice, statusesOf, seen } = await start(RULES, { rateLimits: [byUser], filter })
    await sluice.close(0)
    const before = seen.length
    expect(await statusesOf("ann", 5)).toEqual(Array(5).fill(status))
    expect(seen.length - before).toBe(deny ? 0 : 5)
  })

  it.each([
    { deny: false, status: 200 },
    { deny: true, status: 500 },
  ])(
    "answers $status when it says nothing in time and failure_mode_deny is $deny",
    async ({ deny, status }) => {
      const silent = createServer((socket) => socket.on("error", () => {}).resume())
      await new Promise<void>((resolve) => silent.listen(0, "127.0.0.1", resolve))
      const port = (silent.address() as { port: number }).port
      const filter = { failure_mode_deny: deny, timeout: "0.2s" }
      const { get } = await startEdge([port], { rateLimits: [byUser], filter, healthChecks: false })
      afterThis(() => void silent.close())
      const started = performance.now()
      expect((await get("/items", { "x-user": "ann" })).status).toBe(status)
      expect(performance.now() - started).toBeGreaterThan(150)
    },
  )

  it("decides again after it was started anew on its port", async () => {
    const reserved = await reservePort()
    afterThis(() => reserved.release())
    const { port } = reserved
    const first = await startInstance({ rules: RULES, port })
    const { statusesOf } = await startEdge([port], { rateLimits: [byUser] })
    await eventually(async () => (await statusesOf("warm-up", 1)) && first.decided.length > 0)
    expect(await statusesOf("ann", 3)).toEqual([200, 200, 429])
    await first.close(0)
    expect(await statusesOf("ann", 1)).toEqual([200])
    const second = await startInstance({ rules: RULES, port })
    await eventually(async () => (await statusesOf("warm-up", 1)) && second.decided.length > 0)
    expect(await statusesOf("ann", 3)).toEqual([200, 200, 429])
  })

  it("loses no request when one of two instances is drained under load", async () => {
    const rules = RULES.replace("limit: 2", "limit: 1000000")
    const [going, staying] = [await startInstance({ rules }), await startInstance({ rules })]
    // An error would be seen as a 500.
    const filter = { failure_mode_deny: true }
    const { get } = await startEdge([going.port, staying.port], { rateLimits: [byUser], filter })
    const ask = async () => (await get("/items", { "x-user": "ann" })).status
    await eventually(async () => (await ask()) && going.decided.length > 0 && staying.decided.length > 0)
    const statuses: number[] = []
    let isOver = false
    const load = Array.from({ length: 4 }, async () => {
      while (!isOver) statuses.push(await ask())
    })
    // As the service does it: first it reports NOT_SERVING, then it sends GOAWAY.
    going.setServing(false)
    await eventually(async () => {
      const before = going.decided.length
      for (let i = 0; i < 10; i++) await ask()
      return going.decided.length === before
    })
    await going.close(5_000)
    const after = statuses.length
    await eventually(() => statuses.length > after + 50)
    isOver = true
    await Promise.all(load)
    expect(new Set(statuses)).toEqual(new Set([200]))
  })

  it("answers what it was asked before it took leave, and Envoy is told that nobody answers the rest", async () => {
    const { sluice, statusesOf, get } = await start(RULES.replace("limit: 2", "limit: 1000"), {
      rateLimits: [byUser],
      filter: { failure_mode_deny: true },
    })
    const asked = Array.from({ length: 20 }, () => get("/items", { "x-user": "ann" }))
    await eventually(() => sluice.decided.length >= 10, { every: 1 })
    const closed = sluice.close(5_000)
    const early = (await Promise.all(asked)).map(({ status }) => status)
    await closed
    // Calls before the shutdown are decided. For the others, Envoy knows that no instance decided them.
    expect(early.filter((status) => status === 200).length).toBeGreaterThanOrEqual(10)
    expect(new Set(early)).toEqual(new Set(early.includes(500) ? [200, 500] : [200]))
    expect(await statusesOf("ann", 2)).toEqual([500, 500])
  })
})

describe("as the auth service of ext_authz", () => {
  const BY_PATH = `
version: 1
identity: { trustedProxies: [loopback] }
rules:
  - id: items
    match: { method: GET, path: /items/**, host: shop.test }
    keyBy: ip
    limits: [{ algorithm: fixed-window, limit: 2, window: 1m }]
`

  async function startAuth() {
    const sluice = await startBed(BY_PATH)
    afterThis(() => sluice.close())
    const { http_filters, clusters } = shownOnPage("envoy.filters.http.ext_authz")
    http_filters[1].typed_config.http_service.server_uri.timeout = "5s"
    clusters[0].load_assignment = endpoints("sluice-http", [sluice.port])
    const edge = await startEdge([sluice.port], {
      rateLimits: [],
      before: http_filters,
      clusters,
      healthChecks: false,
      manager: { use_remote_address: true },
    })
    const get = (path: string, headers = {}) => edge.get(path, { host: "shop.test", ...headers })
    const countedBy = () => sluice.decided.flatMap(({ decision }) => decision.rules.map(({ key }) => key))
    return { sluice, seen: edge.seen, get, countedBy }
  }

  it("decides by path, method and host, and its headers reach the client", async () => {
    const { seen, get, countedBy } = await startAuth()
    const answers: Answer[] = []
    for (let i = 0; i < 3; i++) answers.push(await get(`/items/${i}?deny=200`))
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 429])
    expect(answers.map(({ headers }) => headers["x-ratelimit-remaining"])).toEqual(["1", "0", "0"])
    expect(answers[2]?.headers["retry-after"]).toBeDefined()
    expect(JSON.parse(answers[2]?.body ?? "")).toMatchObject({ status: 429, rule: "items" })
    expect(seen.map(({ url }) => url).filter((url) => url?.startsWith("/items"))).toHaveLength(2)
    expect((await get("/other")).status).toBe(200)
    // Of a client on the same machine Envoy tells the machine's address.
    expect(countedBy()).toHaveLength(3)
    expect(countedBy()[0]).toMatch(/^ip:/)
    expect(new Set(countedBy()).size).toBe(1)
  })

  it("is not deceived by what a client says of itself", async () => {
    const { get, countedBy } = await startAuth()
    const lies = {
      "x-forwarded-uri": "/other",
      "x-forwarded-method": "POST",
      "x-forwarded-host": "elsewhere.test",
      "x-original-uri": "/other",
      "x-original-method": "POST",
    }
    const statuses: number[] = []
    for (let i = 0; i < 3; i++) {
      const from = { "x-forwarded-for": `198.51.100.${i}` }
      statuses.push((await get("/items/1", { ...lies, ...from })).status)
    }
    expect(statuses).toEqual([200, 200, 429])
    expect(countedBy()).toHaveLength(3)
    expect(new Set(countedBy()).size).toBe(1)
  })

  it("is done without when it has gone, as the filter is told to", async () => {
    const { sluice, get } = await startAuth()
    await sluice.close()
    for (let i = 0; i < 5; i++) expect((await get("/items/1")).status).toBe(200)
  })
})
