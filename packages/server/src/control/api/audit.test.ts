import { appendFile, mkdtemp, readFile, rename, rm, stat, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterEach, beforeEach, describe, expect, it } from "vitest"
import { newToken } from "../../http/tokens.js"
import { startControl } from "../control-plane.test-support.js"
import { AuditLog } from "./audit.js"

let folder: string
let file: string

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "sluice-audit-"))
  file = join(folder, "audit.jsonl")
})

afterEach(async () => {
  await rm(folder, { recursive: true, force: true })
})

const entry = (action: string) => ({
  at: "2026-01-01T00:00:00.000Z",
  by: "ada",
  role: "admin",
  from: "127.0.0.1",
  action,
})

async function linesOf(path = file): Promise<unknown[]> {
  return (await readFile(path, "utf8"))
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line))
}

describe("AuditLog", () => {
  it("writes a line for each entry, in order, to a file that only its owner can read", async () => {
    const audit = new AuditLog(file)
    await Promise.all(Array.from({ length: 50 }, (_, i) => audit.append(entry(`change ${i}`))))
    expect(await linesOf()).toEqual(Array.from({ length: 50 }, (_, i) => entry(`change ${i}`)))
    expect((await stat(file)).mode & 0o777).toBe(0o600)
  })

  it("starts a new line after a line that a crash cut off", async () => {
    await writeFile(file, `${JSON.stringify(entry("before"))}\n{"at":"2026-`)
    const audit = new AuditLog(file)
    await audit.append(entry("after"))
    expect(await audit.newest(10)).toEqual([entry("after"), entry("before")])
  })

  it("continues in a new file when the old one was moved", async () => {
    const audit = new AuditLog(file)
    await audit.append(entry("old"))
    await rename(file, `${file}.1`)
    await audit.append(entry("new"))
    expect(await linesOf()).toEqual([entry("new")])
    expect(await linesOf(`${file}.1`)).toEqual([entry("old")])
  })

  it("reads only the end of a long file, in whole lines", async () => {
    const line = `${JSON.stringify({ ...entry("long"), comment: "x".repeat(1_000) })}\n`
    await appendFile(file, line.repeat(2_000))
    const audit = new AuditLog(file)
    await audit.append(entry("last"))
    const newest = await audit.newest(5_000)
    expect(newest[0]).toEqual(entry("last"))
    expect(newest.length).toBeGreaterThan(500)
    expect(newest.length).toBeLessThan(2_000)
  })

  it("is empty before the first change", async () => {
    expect(await new AuditLog(file).newest(10)).toEqual([])
    expect(await new AuditLog().newest(10)).toEqual([])
  })

  it("keeps the last 1,000 entries when there is no file", async () => {
    const audit = new AuditLog()
    for (let i = 0; i < 1_001; i++) await audit.append(entry(`change ${i}`))
    const held = await audit.newest(2_000)
    expect(held).toHaveLength(1_000)
    expect([held[0], held[999]]).toEqual([entry("change 1000"), entry("change 1")])
  })
})

describe("the control plane", () => {
  const token = newToken()
  const tokens = [{ name: "ada", role: "admin", token }] as const
  const headers = { authorization: `Bearer ${token}` }

  it("writes every change to disk before it answers, without secrets", async () => {
    const control = await startControl({ audit: file, tokens })
    await control.ask("PATCH", "/rules/login?comment=why", { headers, body: { mode: "off" } })
    expect(await linesOf()).toEqual([
      {
        at: new Date(control.core.clock.now()).toISOString(),
        by: "ada",
        role: "admin",
        from: "127.0.0.1",
        action: "PATCH /rules/:id",
        target: "login",
        revision: 2,
        changes: { added: [], removed: [], changed: ["login"], sections: [] },
        comment: "why",
      },
    ])
    await control.ask("POST", "/keys/login/ip%3A192.0.2.1/block", { headers, body: { duration: "1m" } })
    await control.ask("POST", "/rules/rollback", { headers, body: { revision: 1 } })
    await control.ask("PUT", "/lists/deny", { headers, body: ["user:mallory"] })
    const actions = (await linesOf()).map((line) => (line as { action: string }).action)
    expect(actions.slice(1)).toEqual([
      "POST /keys/:rule/:key/block",
      "POST /rules/rollback",
      "PUT /lists/:name",
    ])
    expect(await readFile(file, "utf8")).not.toContain(token)
    const { json } = await control.ask("GET", "/audit?limit=2", { headers })
    expect(json).toEqual((await linesOf()).slice(-2).reverse())
    await control.close()
  })

  it("writes nothing for requests that change nothing: reads, mistakes, conflicts, equal rules", async () => {
    const control = await startControl({ audit: file, tokens })
    const { document } = control.core.rules.current
    await control.ask("GET", "/rules", { headers })
    await control.ask("PATCH", "/rules/login", { headers, body: { mode: "nope" } })
    await control.ask("PATCH", "/rules/login", { headers, body: { mode: "off" }, ifMatch: '"9"' })
    await control.ask("PUT", "/rules", { headers, body: document })
    expect((await control.ask("GET", "/audit", { headers })).json).toEqual([])
    await control.close()
  })

  it("answers 500 when the entry cannot be written, and says that the change is in force", async () => {
    const control = await startControl({ audit: join(folder, "no", "such", "folder"), tokens })
    const { status, json } = await control.ask("PATCH", "/rules/login", { headers, body: { mode: "off" } })
    expect([status, json.code]).toEqual([500, "AUDIT_IO"])
    expect(json.detail).toContain("in force nevertheless")
    expect(control.core.rules.current.revision).toBe(2)
    expect(control.errors).toEqual([expect.objectContaining({ code: "AUDIT_IO" })])
    await control.close()
  })
})
