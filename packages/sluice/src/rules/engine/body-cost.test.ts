import { describe, expect, it } from "vitest"
import { ManualClock } from "../../testing/manual-clock.js"
import { createRuleEngine } from "./engine.js"

function engineOf(cost: object, limit = 10_000) {
  const rule = { id: "tokens", keyBy: "user", limits: [{ limit, window: "1h" as const }], cost }
  return createRuleEngine({ rules: { version: 1, rules: [rule] }, clock: new ManualClock() })
}

const used = async (engine: ReturnType<typeof engineOf>) =>
  10_000 - (await engine.peek({ user: "42" })).remaining

async function estimateOf(cost: object, body: unknown, headers: Record<string, string> = {}) {
  const engine = engineOf(cost)
  await engine.check({ user: "42", body, headers })
  return await used(engine)
}

describe("cost.estimate from the body", () => {
  const json = { estimate: { json: "max_tokens", default: 500 } }

  it("takes a field of a body that is a text, bytes or a value", async () => {
    const body = { model: "small", max_tokens: 120, messages: [{ role: "user", content: "hi" }] }
    expect(await estimateOf(json, body)).toBe(120)
    expect(await estimateOf(json, JSON.stringify(body, null, 2))).toBe(120)
    expect(await estimateOf(json, Buffer.from(JSON.stringify(body)))).toBe(120)
  })

  it("takes the default when the body has no such number, cannot be read, or is missing", async () => {
    for (const body of [
      {},
      { max_tokens: "many" },
      { max_tokens: -5 },
      "not json",
      '{"max_to',
      null,
      undefined,
      7,
      [],
    ])
      expect(await estimateOf(json, body), JSON.stringify(body)).toBe(500)
  })

  it("adds fields by weight and the length of the body", async () => {
    const cost = { estimate: { json: { max_tokens: 4, "options.num_predict": 2 }, bytesPerUnit: 4 } }
    const body = '{"max_tokens":100,"options":{"num_predict":10}}'
    expect(await estimateOf(cost, body)).toBe(420 + Math.ceil(body.length / 4))
  })

  it("takes the length from Content-Length when the body was parsed or is not at hand", async () => {
    const cost = { estimate: { bytesPerUnit: 4, default: 300 } }
    expect(await estimateOf(cost, { a: 1 }, { "content-length": "4001" })).toBe(1_001)
    expect(await estimateOf(cost, undefined, { "content-length": "400" })).toBe(100)
    expect(await estimateOf(cost, undefined, { "transfer-encoding": "chunked" })).toBe(300)
    expect(await estimateOf(cost, undefined)).toBe(1)
  })

  it("has a maximum", async () => {
    const body = { max_tokens: 1_000_000_000 }
    expect(await estimateOf({ estimate: { json: "max_tokens", max: 800 } }, body)).toBe(800)
    expect(await estimateOf({ estimate: { json: "max_tokens" }, max: 700 }, body)).toBe(700)
  })

  it("takes the largest value of a field that a body has more than once, in whatever case", async () => {
    expect(await estimateOf(json, '{"max_tokens":900,"max_tokens":1}')).toBe(900)
    expect(await estimateOf(json, '{"max_tokens":1,"Max_Tokens":900}')).toBe(900)
    expect(await estimateOf(json, { max_tokens: 1, MAX_TOKENS: 900 })).toBe(900)
  })

  it("gives way to an entry of cost.by and to the cost of the check", async () => {
    const engine = engineOf({ by: [{ path: "/v1/models", cost: 3 }], estimate: { json: "max_tokens" } })
    await engine.check({ user: "42", path: "/v1/models", body: { max_tokens: 100 } })
    expect(await used(engine)).toBe(3)
    await engine.check({ user: "42", body: { max_tokens: 100 } }, { cost: 7 })
    expect(await used(engine)).toBe(10)
  })
})

describe("cost.models", () => {
  const cost = { estimate: { json: "max_tokens" }, models: { "small-*": 1, "large-2": 10, "*": 3 } }

  it("multiplies the estimate by the factor of the first name that matches", async () => {
    expect(await estimateOf(cost, { model: "small-1", max_tokens: 100 })).toBe(100)
    expect(await estimateOf(cost, { model: "large-2", max_tokens: 100 })).toBe(1_000)
    expect(await estimateOf(cost, { model: "unheard-of", max_tokens: 100 })).toBe(300)
    expect(await estimateOf(cost, { max_tokens: 100 })).toBe(300)
    expect(await estimateOf({ models: { large: 5 } }, { model: "other" })).toBe(1)
  })

  it("takes the largest factor when a body names several models or cannot be read", async () => {
    expect(await estimateOf(cost, '{"model":"large-2","model":"small-1","max_tokens":1}')).toBe(10)
    expect(await estimateOf(cost, '{"model":"small-1","Model":"large-2","max_tokens":1}')).toBe(10)
    expect(await estimateOf(cost, '{"model":"small-1","max_tokens":1')).toBe(10)
    expect(await estimateOf(cost, undefined, { "content-length": "10" })).toBe(10)
    expect(await estimateOf(cost, undefined)).toBe(3)
  })

  it("multiplies what the response says", async () => {
    const engine = engineOf({ ...cost, responseJson: "usage.total_tokens" })
    const decision = await engine.check({ user: "42", body: { model: "large-2", max_tokens: 50 } })
    expect(await used(engine)).toBe(500)
    const reader = engine.responseReader(decision, "application/json")
    reader?.write(Buffer.from('{"usage":{"total_tokens":31}}'))
    await engine.settle(decision, { status: 200, usage: reader?.end(true) })
    expect(await used(engine)).toBe(310)
  })
})

describe("cost.responseJson", () => {
  async function settled(cost: object, body: string, isComplete = true, status: number | undefined = 200) {
    const engine = engineOf(cost)
    const decision = await engine.check({ user: "42" })
    const reader = engine.responseReader(decision, "text/event-stream")
    reader?.write(Buffer.from(body))
    await engine.settle(decision, { status, usage: reader?.end(isComplete) })
    return await used(engine)
  }
  const cost = { responseJson: { "usage.input_tokens": 1, "usage.output_tokens": 4 }, estimate: 100 }
  const stream = (output: number) =>
    `data: {"type":"message_start","message":{"usage":{"input_tokens":25,"output_tokens":1}}}\n\n` +
    `data: {"type":"message_delta","usage":{"output_tokens":${output}}}\n\n`

  it("replaces the estimate by the fields by weight, each with its last value", async () => {
    expect(await settled(cost, stream(10))).toBe(65)
    expect(await settled(cost, stream(100))).toBe(425)
    expect(await settled({ responseJson: { "usage.output_tokens": 0.5 } }, stream(5))).toBe(3)
  })

  it("leaves the estimate when no event has a field", async () => {
    expect(await settled(cost, "data: [DONE]\n\n")).toBe(100)
    expect(await settled(cost, "<html>")).toBe(100)
  })

  it("takes the larger of estimate and usage when the response was cut", async () => {
    expect(await settled(cost, stream(10), false, undefined)).toBe(100)
    expect(await settled(cost, stream(100), false, undefined)).toBe(425)
  })

  it("has a maximum, and a response that refundOn names costs nothing", async () => {
    expect(await settled({ ...cost, max: 50 }, stream(100))).toBe(50)
    const engine = createRuleEngine({
      rules: {
        version: 1,
        rules: [{ id: "t", keyBy: "user", limits: [{ limit: 10_000, window: "1h" }], cost, refundOn: "5xx" }],
      },
    })
    const decision = await engine.check({ user: "42" })
    await engine.settle(decision, {
      status: 500,
      usage: { values: new Map([["usage.input_tokens", 9]]), isComplete: true },
    })
    expect(await used(engine)).toBe(0)
    await engine.close()
  })

  it("is read by one reader for all rules of a request", async () => {
    const rule = (id: string, field: string) => ({
      id,
      keyBy: "user",
      limits: [{ limit: 10_000, window: "1h" }],
      cost: { responseJson: field },
    })
    const engine = createRuleEngine({
      rules: { version: 1, rules: [rule("in", "usage.input_tokens"), rule("out", "usage.output_tokens")] },
    })
    const decision = await engine.check({ user: "42" })
    const reader = engine.responseReader(decision, "application/json; charset=utf-8")
    reader?.write(Buffer.from('{"usage":{"input_tokens":7,"output_tokens":30}}'))
    await engine.settle(decision, { status: 200, usage: reader?.end(true) })
    const { rules } = await engine.peek({ user: "42" })
    expect(rules.map(({ rule, limits }) => [rule, limits[0]?.remaining])).toEqual([
      ["in", 9_993],
      ["out", 9_970],
    ])
    await engine.close()
  })
})

describe("explain", () => {
  const explained = async (cost: object, options = {}) => {
    const body = { model: "large", max_tokens: 100 }
    const { rules } = await engineOf(cost).explain(
      { user: "42", body, headers: { "content-length": "40" } },
      options,
    )
    return rules[0]?.response
  }
  const estimate = { json: { max_tokens: 4 }, bytesPerUnit: 4, default: 500 }
  const responseJson = { "usage.input": 1, "usage.output": 4 }
  const models = { large: 10 }

  it("tells which estimate is charged by the body, and what in the response settles it", async () => {
    expect(await explained({ estimate, responseJson, models, overdraft: "charge" })).toBe(
      "the request's JSON max_tokens × 4 (500 without it) + length / 4, times 10 for the model, is charged first: 4100; " +
        "the response's JSON usage.input + usage.output × 4, times 10 for the model, settles the estimate of 4100, and more is charged also beyond the limit",
    )
    expect(await explained({ estimate: 7, responseHeader: "X-Tokens", responseJson: "usage.total" })).toBe(
      "the response's header x-tokens or else JSON usage.total settles the estimate of 7, and more is charged as far as the limit has room",
    )
  })

  it("tells it of a rule that reads only the request, and not of one whose cost the caller names", async () => {
    expect(await explained({ estimate: { bytesPerUnit: 8 } })).toBe(
      "the request's length / 8 is charged first: 5",
    )
    expect(await explained({ estimate }, { cost: 3 })).toBeUndefined()
    expect(await explained({ default: 3 })).toBeUndefined()
  })
})

describe("readsBody", () => {
  it("is true only for a request that matches a rule that charges by the body", () => {
    const limits = [{ limit: 10, window: "1h" }]
    const engine = createRuleEngine({
      rules: {
        version: 1,
        rules: [
          { id: "all", limits },
          { id: "chat", match: { path: "/chat" }, limits, cost: { estimate: { json: "max_tokens" } } },
          { id: "models", match: { path: "/model" }, limits, cost: { models: { x: 2 } } },
          { id: "off", mode: "off", match: { path: "/off" }, limits, cost: { models: { x: 2 } } },
        ],
      },
    })
    expect(
      ["/chat", "/model", "/off", "/x"].map((path) => engine.readsBody({ path, ip: "192.0.2.1" })),
    ).toEqual([true, true, false, false])
  })
})
