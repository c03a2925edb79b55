import { mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { afterEach, beforeEach, expect, it, vi } from "vitest"
import { type ConfigInput, configSchema } from "../config/schema.js"
import { createLog } from "../telemetry/log.js"
import { ownControlToken } from "./control-token.js"
import { controlTokenFile, keptControlToken } from "./control-token-file.js"

let folder: string
const log = createLog({ level: "silent" })

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "sluice-token-"))
  vi.stubEnv("XDG_STATE_HOME", folder)
})

afterEach(() => {
  vi.unstubAllEnvs()
  rmSync(folder, { recursive: true })
})

function own(control: ConfigInput["control"]) {
  return ownControlToken(configSchema.parse({ control }), log)
}

it("is generated once, readable by this user only, and the same after a restart", () => {
  const first = own({ port: 9090 })
  expect(first?.token).toMatch(/^sluice_[\w-]{43}$/)
  expect(first?.file).toBe(controlTokenFile(9090))
  expect(readFileSync(first?.file as string, "utf8")).toBe(`${first?.token}\n`)
  expect(statSync(first?.file as string).mode & 0o777).toBe(0o600)
  expect(statSync(dirname(first?.file as string)).mode & 0o777).toBe(0o700)
  expect(own({ port: 9090 })).toEqual(first)
  expect(keptControlToken(9090)).toBe(first?.token)
  expect(own({ port: 9091 })?.token).not.toBe(first?.token)
})

it("is not generated when tokens are configured, when none is required, and when the control plane is off", () => {
  const tokens = [{ name: "ann", role: "admin" as const, hash: "a".repeat(64) }]
  expect(own({ tokens })).toBeUndefined()
  expect(own({ open: true })).toBeUndefined()
  expect(own({ enabled: false })).toBeUndefined()
})

it("is new at each start on a port that the system chooses, and is not saved", () => {
  const [first, second] = [own({ port: 0 }), own({ port: 0 })]
  expect(first?.file).toBeUndefined()
  expect(first?.token).not.toBe(second?.token)
})

it("is generated again when its file is incomplete", () => {
  const file = controlTokenFile(9090)
  mkdirSync(dirname(file), { recursive: true })
  writeFileSync(file, "sluice_abc")
  expect(keptControlToken(9090)).toBeUndefined()
  expect(own({ port: 9090 })?.token).toBe(keptControlToken(9090))
})

it("stays in this process when it cannot be saved", () => {
  writeFileSync(join(folder, "sluice"), "in the way")
  expect(own({ port: 9090 })).toMatchObject({ file: undefined, token: expect.stringMatching(/^sluice_/) })
})
