import { Validator } from "@seriousme/openapi-schema-validator"
import { afterEach, beforeEach, describe, expect, it } from "vitest"
import { startControl, type TestControl } from "../control-plane.test-support.js"
import type { OpenApi } from "./openapi.js"

let control: TestControl
let api: OpenApi

beforeEach(async () => {
  control = await startControl({ version: "1.2.3" })
  api = (await control.ask("GET", "/openapi.json")).json
})

afterEach(async () => {
  expect(control.errors).toEqual([])
  await control.close()
})

const operations = () =>
  Object.entries(api.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ path, method: method.toUpperCase(), operation })),
  )

describe("/openapi.json", () => {
  it("is valid OpenAPI 3.1", async () => {
    const validator = new Validator()
    const { valid, errors } = await validator.validate(
      structuredClone(api) as unknown as Record<string, unknown>,
    )
    expect(errors ?? []).toEqual([])
    expect([valid, validator.version]).toEqual([true, "3.1"])
  })

  it("has a schema for every reference in it", () => {
    const text = JSON.stringify(api)
    const names = new Set([...text.matchAll(/"\$ref":"([^"]+)"/g)].map(([, name]) => String(name)))
    expect(names.size).toBeGreaterThan(4)
    for (const name of names) {
      expect(name).toMatch(/^#\/components\/schemas\/\w+$/)
      expect(api.components.schemas).toHaveProperty(String(name.split("/").at(-1)))
    }
  })

  it("names every operation, each once", () => {
    const ids = operations().map(({ operation }) => operation.operationId)
    expect(ids.length).toBeGreaterThan(35)
    expect(new Set(ids).size).toBe(ids.length)
  })

  it("describes only paths that exist", async () => {
    for (const { path, method } of operations()) {
      if (path === "/events") continue
      const { status, json } = await control.ask(method, path.replace(/\{\w+\}/g, "x"), { ifMatch: "" })
      expect([method, path, json?.code]).not.toEqual([method, path, "PATH_UNKNOWN"])
      expect(status).not.toBe(405)
      expect(status).toBeLessThan(500)
    }
  })

  it("says which changes need if-match", () => {
    const needing = operations().filter(({ operation }) =>
      operation.parameters.some(({ name }) => name === "If-Match"),
    )
    expect(needing.map(({ method, path }) => `${method} ${path}`)).toEqual(
      expect.arrayContaining(["PUT /rules", "POST /rules", "DELETE /rules/{id}", "POST /rules/rollback"]),
    )
    expect(needing.some(({ method }) => method === "GET")).toBe(false)
  })
})

describe("/docs", () => {
  it("shows every operation, without inline scripts and styles", async () => {
    const { headers, text } = await control.ask("GET", "/docs")
    expect(headers.get("content-type")).toBe("text/html; charset=utf-8")
    expect(text).toContain("1.2.3")
    for (const { operation } of operations()) expect(text).toContain(`id="${operation.operationId}"`)
    expect(text).not.toMatch(/<script|<style|\sstyle=|\son\w+=/i)
    expect(text).not.toMatch(/https?:/)
    const style = await control.ask("GET", "/docs/style.css")
    expect([style.status, style.headers.get("content-type")]).toEqual([200, "text/css; charset=utf-8"])
  })

  it("is where / redirects to while there is no dashboard", async () => {
    const { status, headers } = await control.ask("GET", "/")
    expect([status, headers.get("location")]).toEqual([302, "/docs"])
  })
})
