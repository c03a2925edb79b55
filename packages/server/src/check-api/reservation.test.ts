import { afterEach, beforeEach, describe, expect, it } from "vitest"
import { testCore, waitingStore } from "../core.test-support.js"
import { startPlane, type TestPlane } from "./check-api.test-support.js"
import { checkApiDescription } from "./openapi.js"

const RULES = `
version: 1
rules:
  - id: tokens
    keyBy: user
    limits: [{ limit: 1000, window: 1m, algorithm: fixed-window }]
`

let plane: TestPlane
beforeEach(async () => {
  plane = await startPlane(testCore(RULES))
})
afterEach(() => plane.close())

const reserve = (body: object, query = "") => plane.post(`/v1/reserve${query}`, { user: "ann", ...body })
const settle = (reservation: unknown, cost: unknown) => plane.post("/v1/settle", { reservation, cost })
const left = async () => (await plane.post("/v1/peek", { user: "ann" })).json.remaining

describe("POST /v1/reserve and /v1/settle", () => {
  it("charge an estimate, and correct it to the real cost once", async () => {
    const { status, json, headers } = await reserve({ cost: 400 })
    expect(status).toBe(200)
    expect(json).toMatchObject({
      allowed: true,
      remaining: 600,
      settleBefore: plane.core.clock.now() + 600_000,
    })
    expect(headers.get("ratelimit-policy")).toContain("tokens")
    for (const cost of [150, 150, 0]) {
      const settled = await settle(json.reservation, cost)
      expect([settled.status, settled.text]).toEqual([200, '{"settled":true}'])
      expect(await left()).toBe(850)
    }
    expect(plane.core.decided.map(({ cost }) => cost)).toContain(400)
  })

  it("cancel with a cost of 0, and keep the estimate of what nobody settles", async () => {
    const { reservation } = (await reserve({ cost: 400 })).json
    await reserve({ cost: 100 })
    await settle(reservation, 0)
    expect(await left()).toBe(900)
  })

  it("answer a denial without a reservation, with the status that the caller asked for", async () => {
    const { status, json } = await reserve({ cost: 1_001 }, "?status=429")
    expect(status).toBe(429)
    expect(json).toMatchObject({ allowed: false, retryAfterMs: "never" })
    expect(json).not.toHaveProperty("reservation")
  })

  it("take a rule and a key, and the small answer", async () => {
    const { json } = await plane.post("/v1/reserve?answer=small", {
      rule: "tokens",
      key: "user:ann",
      cost: 10,
    })
    expect(Object.keys(json)).toEqual([
      ...["allowed", "limit", "remaining", "retryAfterMs", "resetAfterMs"],
      ...["reservation", "settleBefore"],
    ])
    await settle(json.reservation, 4)
    expect(await left()).toBe(996)
  })

  it("take overdraft and hold", async () => {
    const forgiving = await reserve({ cost: 400, overdraft: "forgive", hold: "1m" })
    expect(forgiving.json.settleBefore).toBe(plane.core.clock.now() + 60_000)
    await settle(forgiving.json.reservation, 5_000)
    expect((await plane.post("/v1/peek", { user: "ann" })).json).toMatchObject({ remaining: 0, used: 1_000 })
    const charging = (await plane.post("/v1/reserve", { user: "bob", cost: 400 })).json.reservation
    await settle(charging, 5_000)
    expect((await plane.post("/v1/peek", { user: "bob" })).json).toMatchObject({ remaining: 0, used: 5_000 })
  })

  it("refuse a reservation that is unknown or has expired, and one that somebody changed", async () => {
    const { reservation } = (await reserve({ cost: 400, hold: "10s" })).json
    const changed = reservation.replace(/.$/, (last: string) => (last === "A" ? "Q" : "A"))
    expect(await settle(changed, 0)).toMatchObject({ status: 404, json: { code: "RESERVATION_UNKNOWN" } })
    expect(await settle("x", 0)).toMatchObject({ status: 404, json: { code: "RESERVATION_UNKNOWN" } })
    plane.core.clock.advance(10_000)
    expect(await settle(reservation, 0)).toMatchObject({ status: 410, json: { code: "RESERVATION_EXPIRED" } })
    expect(await left()).toBe(600)
  })

  it("refuse what is no body of theirs, without showing a reservation", async () => {
    const { reservation } = (await reserve({ cost: 1 })).json
    for (const body of [
      {},
      { reservation },
      { reservation, cost: "1" },
      { reservation, cost: -1 },
      { reservation, cost: 1, rule: "tokens" },
      { reservation: 7, cost: 1 },
      { reservation: { a: reservation }, cost: 1 },
    ]) {
      const { status, text } = await plane.post("/v1/settle", body)
      expect(status).toBe(400)
      expect(text).not.toContain(reservation)
    }
    for (const body of [{ at: 1 }, { hold: "0s" }, { hold: {} }, { overdraft: "no" }, { cost: -1 }, { x: 1 }])
      expect((await reserve(body)).status).toBe(400)
    expect(plane.errors).toEqual([])
  })

  it("answer 503 if the store does not, so that the caller settles again", async () => {
    const store = waitingStore()
    const away = await startPlane(testCore(RULES, { store }))
    const { reservation } = (await away.post("/v1/reserve", { user: "ann", cost: 5 })).json
    const { settle: works } = store
    store.settle = async () => ({ result: "failed", now: 0 })
    const failed = await away.post("/v1/settle", { reservation, cost: 1 })
    expect(failed).toMatchObject({ status: 503, json: { code: "STORE_UNAVAILABLE" } })
    store.settle = works
    expect((await away.post("/v1/settle", { reservation, cost: 1 })).status).toBe(200)
    await away.close()
  })

  it("need a token where checks need one, and not where only refunds do", async () => {
    const tokens = [{ name: "app", token: "t".repeat(32) }]
    const open = await startPlane(testCore(RULES), { access: { tokens } })
    const { reservation } = (await open.post("/v1/reserve", { user: "ann" })).json
    expect((await open.post("/v1/settle", { reservation, cost: 0 })).status).toBe(200)
    await open.close()
    const closed = await startPlane(testCore(RULES), { access: { tokens, requireToken: true } })
    for (const path of ["/v1/reserve", "/v1/settle"]) expect((await closed.post(path, {})).status).toBe(401)
    await closed.close()
  })
})

it("the description has the fields of the answers", async () => {
  const fieldsOf = (schema: object) => Object.keys((schema as { properties: object }).properties)
  const { ReservedDecision, SmallReservedDecision } = checkApiDescription.components.schemas
  const whole = (await reserve({})).json
  expect(fieldsOf(ReservedDecision)).toEqual(expect.arrayContaining(Object.keys(whole)))
  const small = (await reserve({}, "?answer=small")).json
  expect(fieldsOf(SmallReservedDecision)).toEqual(Object.keys(small))
})
