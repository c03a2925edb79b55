import { Validator } from "@seriousme/openapi-schema-validator"
import { afterEach, beforeEach, expect, it } from "vitest"
import { testCore } from "../core.test-support.js"
import { startPlane, type TestPlane } from "./check-api.test-support.js"
import { checkApiDescription } from "./openapi.js"
import { CHARGE_FIELDS, KEY_FIELDS, REQUEST_FIELDS } from "./question.js"

const RULES = "{ version: 1, rules: [{ id: all, keyBy: user, limits: [{ limit: 2, window: 1m }] }] }"
const { paths, components } = checkApiDescription
const { schemas } = components
const fieldsOf = (schema: object) => Object.keys((schema as { properties: object }).properties)

let plane: TestPlane

beforeEach(async () => {
  plane = await startPlane(testCore(RULES))
})

afterEach(() => plane.close())

it("is served as valid OpenAPI 3.1", async () => {
  const { status, json } = await plane.get("/openapi.json")
  expect(status).toBe(200)
  expect(json).toEqual(JSON.parse(JSON.stringify(checkApiDescription)))
  const validator = new Validator()
  const { valid, errors } = await validator.validate(json)
  expect(errors ?? []).toEqual([])
  expect([valid, validator.version]).toEqual([true, "3.1"])
})

it("describes every path but those of other protocols, with its method", async () => {
  const { json } = await plane.get("/none")
  const served = String(json.detail).match(/\/[\w/.]+/g) ?? []
  expect(served.filter((path) => path !== "/v1/auth" && path !== "/none").sort()).toEqual(
    Object.keys(paths).sort(),
  )
  for (const [path, operations] of Object.entries(paths)) {
    const method = Object.keys(operations)[0]?.toUpperCase()
    const { status } = method === "POST" ? await plane.post(path, {}) : await plane.get(path)
    expect([path, status]).not.toEqual([path, 405])
  }
})

it("describes the fields that a check takes", () => {
  expect(fieldsOf(schemas.RequestQuestion).sort()).toEqual([...REQUEST_FIELDS, ...CHARGE_FIELDS].sort())
  expect(fieldsOf(schemas.KeyQuestion).sort()).toEqual([...KEY_FIELDS, ...CHARGE_FIELDS].sort())
})

it("describes the fields of an answer, whole and small", async () => {
  const whole = await plane.post("/v1/check", { user: "ann" })
  expect(fieldsOf(schemas.Decision)).toEqual(expect.arrayContaining(Object.keys(whole.json)))
  expect(Object.keys(whole.json)).toEqual(
    expect.arrayContaining([...(schemas.Decision.required as string[])]),
  )
  const small = await plane.post("/v1/check?answer=small", { user: "ann" })
  expect(fieldsOf(schemas.SmallDecision)).toEqual(Object.keys(small.json))
})
