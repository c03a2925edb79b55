import { status } from "@grpc/grpc-js"
import { connectRedis } from "sluice/redis"
import { importEnvoyConfig } from "sluice/rules"
import { afterEach, describe, expect, it } from "vitest"
import { reservePort } from "../../../../test/support/ports.js"
import { type TestCore, testCore } from "../core.test-support.js"
import { type Answer, descriptor, RateLimitClient } from "./grpc-client.test-support.js"
import { type EnvoyListener, type EnvoyOptions, startEnvoy } from "./start-envoy.js"

const cleanUps: (() => unknown)[] = []
afterEach(async () => {
  for (const cleanUp of cleanUps.splice(0).reverse()) await cleanUp()
})

async function start(
  core: TestCore,
  options: Partial<EnvoyOptions> = {},
): Promise<{ client: RateLimitClient; listener: EnvoyListener }> {
  const listener = await startEnvoy(core, { host: "127.0.0.1", port: 0, ...options })
  const client = new RateLimitClient(listener.address)
  cleanUps.push(
    () => core.close(),
    () => listener.close(0),
    () => client.close(),
  )
  return { client, listener }
}

const RULES = `
version: 1
rules:
  - id: per-user
    match: { domain: edge, descriptor: [{ key: user }] }
    keyBy: descriptor
    limits: [{ algorithm: fixed-window, limit: 2, window: 1m }]
  - id: per-path
    match: { domain: edge, descriptor: [{ key: path, value: /v1/* }] }
    keyBy: descriptor
    limits: [{ name: hourly, algorithm: fixed-window, limit: 100, window: 1h }]
  - id: free
    match: { domain: edge, descriptor: [{ key: friend }] }
    limits: unlimited
  - id: watched
    match: { domain: edge, descriptor: [{ key: watched }] }
    keyBy: descriptor
    mode: shadow
    limits: [{ algorithm: fixed-window, limit: 1, window: 1s }]
  - id: quarter
    match: { domain: edge, descriptor: [{ key: quarter }] }
    keyBy: descriptor
    limits: [{ algorithm: fixed-window, limit: 5, window: 15m }]
  - id: tried
    match: { domain: edge, descriptor: [{ key: tried }] }
    keyBy: descriptor
    limits: unlimited
    candidate: { limits: [{ algorithm: fixed-window, limit: 1, window: 1m }] }
  - id: bucket
    match: { domain: edge, descriptor: [{ key: bucket }] }
    keyBy: descriptor
    cost: 3
    limits: [{ algorithm: token-bucket, limit: 10, window: 1s, burst: 20 }]
`

const codes = ({ statuses }: Answer) => statuses.map(({ code }) => code)
const remaining = ({ statuses }: Answer) => statuses.map(({ limitRemaining }) => limitRemaining)

describe("ShouldRateLimit, asked by @grpc/grpc-js", () => {
  it("counts a descriptor and returns its status", async () => {
    const core = testCore(RULES)
    core.clock.advance(20_000.5)
    const { client } = await start(core)
    const question = { domain: "edge", descriptors: [descriptor("user", "42")] }
    expect(await client.ask(question)).toEqual({
      overallCode: "OK",
      statuses: [
        {
          code: "OK",
          currentLimit: { requestsPerUnit: 2, unit: "MINUTE", name: "2/1m" },
          limitRemaining: 1,
          durationUntilReset: { seconds: "40", nanos: 0 },
        },
      ],
      responseHeadersToAdd: [],
    })
    await client.ask(question)
    const denied = await client.ask(question)
    expect(denied.overallCode).toBe("OVER_LIMIT")
    expect(denied.statuses[0]).toMatchObject({ code: "OVER_LIMIT", limitRemaining: 0 })
    core.clock.advance(40_000)
    expect((await client.ask(question)).overallCode).toBe("OK")
  })

  it("has one status per descriptor, in order, and charges all of them or none", async () => {
    const { client } = await start(testCore(RULES))
    const descriptors = [
      descriptor("path", "/v1/items"),
      descriptor("nobody", "knows"),
      descriptor("user", "42"),
      descriptor("friend", "ann"),
    ]
    const question = { domain: "edge", descriptors }
    const first = await client.ask(question)
    expect(codes(first)).toEqual(["OK", "OK", "OK", "OK"])
    expect(remaining(first)).toEqual([99, 0, 1, 4_294_967_295])
    expect(first.statuses.map(({ currentLimit }) => currentLimit?.name)).toEqual([
      "hourly",
      undefined,
      "2/1m",
      undefined,
    ])
    await client.ask(question)
    const third = await client.ask(question)
    expect(third.overallCode).toBe("OVER_LIMIT")
    expect(codes(third)).toEqual(["OK", "OK", "OVER_LIMIT", "OK"])
    expect(remaining(third)[0]).toBe(98)
  })

  it("answers OK to a domain or descriptor that no rule knows", async () => {
    const { client } = await start(testCore(RULES))
    for (const question of [
      { domain: "other", descriptors: [descriptor("user", "42")] },
      { domain: "edge", descriptors: [descriptor("user", "42", "path", "/")] },
      { domain: "edge", descriptors: [{ entries: [] }] },
    ]) {
      const { overallCode, statuses } = await client.ask(question)
      expect(overallCode).toBe("OK")
      expect(statuses).toMatchObject([{ code: "OK", currentLimit: null, durationUntilReset: null }])
    }
  })

  it("charges hits_addend, or the cost of the rule when it is 0", async () => {
    const { client } = await start(testCore(RULES))
    const ask = (hitsAddend: number) =>
      client.ask({ domain: "edge", descriptors: [descriptor("bucket", "b")], hitsAddend })
    expect(remaining(await ask(0))).toEqual([17])
    expect(remaining(await ask(7))).toEqual([10])
    const denied = await ask(11)
    expect([denied.overallCode, ...remaining(denied)]).toEqual(["OVER_LIMIT", 10])
    expect(denied.statuses[0]?.currentLimit?.requestsPerUnit).toBe(20)
    expect((await ask(4_294_967_295)).overallCode).toBe("OVER_LIMIT")
  })

  it("prefers the addend of a descriptor to that of the request, and only peeks if it is an explicit 0", async () => {
    const { client } = await start(testCore(RULES))
    const ask = (value: number | string) =>
      client.ask({
        domain: "edge",
        descriptors: [
          { ...descriptor("quarter", "q"), hitsAddend: { value } },
          descriptor("user", String(value)),
        ],
        hitsAddend: 2,
      })
    expect(remaining(await ask(0))).toEqual([5, 0])
    expect(remaining(await ask(3))).toEqual([2, 0])
    expect(codes(await ask("18446744073709551615"))).toEqual(["OVER_LIMIT", "OK"])
  })

  it("uses the limit that a descriptor carries", async () => {
    const { client } = await start(testCore(RULES))
    const ask = (key: string, requestsPerUnit: number, unit: string) =>
      client.ask({
        domain: "edge",
        descriptors: [{ ...descriptor(key, "1"), limit: { requestsPerUnit, unit } }],
      })
    const first = await ask("user", 10, "DAY")
    expect(first.statuses).toMatchObject([
      { currentLimit: { requestsPerUnit: 10, unit: "DAY" }, limitRemaining: 9 },
    ])
    // The counters of the rule: a limit that is raised keeps what was charged.
    await client.ask({ domain: "edge", descriptors: [descriptor("user", "1")] })
    expect(remaining(await ask("user", 5, "MINUTE"))).toEqual([3])
    expect(remaining(await ask("friend", 5, "WEEK"))).toEqual([4])
    const nothing = await ask("friend", 0, "HOUR")
    expect(nothing.overallCode).toBe("OVER_LIMIT")
    expect(nothing.statuses).toMatchObject([{ code: "OVER_LIMIT", limitRemaining: 0 }])
  })

  it("never denies for a rule in shadow mode, and shows its numbers", async () => {
    const { client } = await start(testCore(RULES))
    const question = { domain: "edge", descriptors: [descriptor("watched", "x")] }
    await client.ask(question)
    expect(await client.ask(question)).toMatchObject({
      overallCode: "OK",
      statuses: [{ code: "OK", currentLimit: { requestsPerUnit: 1, unit: "SECOND" }, limitRemaining: 0 }],
    })
  })

  it("does not report candidate limits", async () => {
    const { client } = await start(testCore(RULES))
    const { statuses } = await client.ask({ domain: "edge", descriptors: [descriptor("tried", "x")] })
    expect(statuses).toMatchObject([{ code: "OK", currentLimit: null, limitRemaining: 4_294_967_295 }])
  })

  it("reports 0 remaining without a rule, and the maximum for an unlimited one, as envoyproxy/ratelimit does", async () => {
    const rules = `
version: 1
rules:
  - id: vip
    match: { domain: edge, descriptor: [{ key: user, value: vip }] }
    limits: unlimited
  - id: user
    match: { domain: edge, descriptor: [{ key: user, value: ann }] }
    keyBy: descriptor
    limits: [{ limit: 5, window: 1m }]
`
    const { client } = await start(testCore(rules))
    const descriptors = ["vip", "ann", "bob"].map((name) => descriptor("user", name))
    const { overallCode, statuses } = await client.ask({ domain: "edge", descriptors })
    expect(overallCode).toBe("OK")
    expect(statuses).toMatchObject([
      { code: "OK", currentLimit: null, limitRemaining: 4_294_967_295 },
      { code: "OK", currentLimit: { requestsPerUnit: 5 }, limitRemaining: 4 },
      { code: "OK", currentLimit: null, limitRemaining: 0, durationUntilReset: null },
    ])
  })

  it("uses unit UNKNOWN for a window without a name in Envoy", async () => {
    const { client } = await start(testCore(RULES))
    const { statuses } = await client.ask({ domain: "edge", descriptors: [descriptor("quarter", "q")] })
    expect(statuses[0]?.currentLimit).toEqual({ requestsPerUnit: 5, unit: "UNKNOWN", name: "5/15m" })
  })

  it("answers OVER_LIMIT for a blocked key", async () => {
    const core = testCore(RULES)
    const { client } = await start(core)
    await core.engine.blockKey("per-user", "descriptor:user=42", "1h")
    const answer = await client.ask({
      domain: "edge",
      descriptors: [descriptor("path", "/v1/x"), descriptor("user", "42")],
    })
    expect([answer.overallCode, ...codes(answer)]).toEqual(["OVER_LIMIT", "OK", "OVER_LIMIT"])
    expect(remaining(answer)).toEqual([100, 0])
  })

  it("decides an imported configuration whose requests_per_unit is 0, and names the descriptor", async () => {
    const { document } = importEnvoyConfig(`
domain: edge
descriptors:
  - key: closed
    rate_limit: { unit: minute, requests_per_unit: 0 }
  - key: open
    rate_limit: { unit: minute, requests_per_unit: 5 }
`)
    const { client } = await start(testCore(JSON.stringify(document)))
    const descriptors = [descriptor("open", "1"), descriptor("closed", "1")]
    const both = await client.ask({ domain: "edge", descriptors })
    expect([both.overallCode, ...codes(both)]).toEqual(["OVER_LIMIT", "OK", "OVER_LIMIT"])
    const one = await client.ask({ domain: "edge", descriptors: descriptors.slice(1) })
    expect(one.statuses).toMatchObject([{ code: "OVER_LIMIT", limitRemaining: 0 }])
  })

  it("makes Envoy add the headers of the rule's style if configured", async () => {
    const core = testCore(RULES)
    const { client } = await start(core, { responseHeaders: true })
    const { responseHeadersToAdd } = await client.ask({
      domain: "edge",
      descriptors: [descriptor("user", "1")],
    })
    const headers = Object.fromEntries(responseHeadersToAdd.map(({ key, value }) => [key, value]))
    expect(headers).toMatchObject({ "x-ratelimit-limit": "2", "x-ratelimit-remaining": "1" })
    expect(headers.ratelimit).toContain("per-user")
    const unknown = await client.ask({ domain: "edge", descriptors: [descriptor("who", "1")] })
    expect(unknown.responseHeadersToAdd).toEqual([])
  })

  it("decides as the engine does for the same request", async () => {
    const core = testCore(RULES)
    const twin = testCore(RULES)
    cleanUps.push(() => twin.close())
    const { client } = await start(core)
    for (let i = 0; i < 40; i++) {
      const descriptors = [descriptor("user", String(i % 7)), descriptor("path", `/v1/${i % 3}`)].slice(i % 2)
      const { overallCode, statuses } = await client.ask({ domain: "edge", descriptors })
      const decision = await twin.engine.check({
        domain: "edge",
        descriptors: descriptors.map(({ entries }) => ({ entries })),
      })
      expect(overallCode).toBe(decision.allowed ? "OK" : "OVER_LIMIT")
      expect(Math.min(...statuses.map(({ limitRemaining }) => limitRemaining))).toBe(decision.remaining)
      core.clock.advance(1_000)
      twin.clock.advance(1_000)
    }
    expect(core.decided.length).toBe(40)
    expect(core.decided.every(({ protocol }) => protocol === "grpc")).toBe(true)
  })
})

describe("ShouldRateLimit that cannot be answered", () => {
  it.each([
    ["domain: must not be empty", { domain: "", descriptors: [descriptor("user", "1")] }],
    ["descriptors: must have at least one entry", { domain: "edge", descriptors: [] }],
    [
      "descriptors: may have at most 256 entries",
      { domain: "edge", descriptors: Array.from({ length: 257 }, () => descriptor("user", "1")) },
    ],
    [
      "descriptors.entries: may have at most 64 entries",
      { domain: "edge", descriptors: [descriptor(...Array.from({ length: 130 }, () => "x"))] },
    ],
    [
      "descriptors.limit.unit: must be one of SECOND",
      {
        domain: "edge",
        descriptors: [{ ...descriptor("user", "1"), limit: { requestsPerUnit: 1, unit: "UNKNOWN" } }],
      },
    ],
  ])("is INVALID_ARGUMENT: %s", async (message, question) => {
    const { client } = await start(testCore(RULES))
    await expect(client.ask(question)).rejects.toMatchObject({
      code: status.INVALID_ARGUMENT,
      details: expect.stringContaining(message),
    })
  })

  it("is UNKNOWN when the store has failed and the rule denies in that case", async () => {
    const rules = `
version: 1
rules:
  - id: strict
    match: { domain: edge, descriptor: [{ key: strict }] }
    keyBy: descriptor
    onStoreFailure: deny
    limits: [{ algorithm: fixed-window, limit: 5, window: 1m }]
  - id: lenient
    match: { domain: edge, descriptor: [{ key: lenient }] }
    keyBy: descriptor
    onStoreFailure: allow
    limits: [{ algorithm: fixed-window, limit: 5, window: 1m }]
`
    const { port, release } = await reservePort()
    cleanUps.push(release)
    const store = await connectRedis(`redis://127.0.0.1:${port}`)
    const { client } = await start(testCore(rules, { store }))
    await expect(
      client.ask({ domain: "edge", descriptors: [descriptor("strict", "1")] }),
    ).rejects.toMatchObject({
      code: status.UNKNOWN,
      details: 'rule "strict": the store is unavailable and onStoreFailure is deny',
    })
    const passed = await client.ask({ domain: "edge", descriptors: [descriptor("lenient", "1")] })
    expect(passed.overallCode).toBe("OK")
  })
})
