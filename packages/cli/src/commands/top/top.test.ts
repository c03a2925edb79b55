import { readFileSync } from "node:fs"
import stringWidth from "string-width"
import { afterEach, beforeAll, describe, expect, it, vi } from "vitest"
import { eventually } from "../../../../../test/support/eventually.js"
import { reservePort } from "../../../../../test/support/ports.js"
import {
  buildCli,
  inTerminal,
  killAll,
  plainStyle,
  type RunningService,
  sluice,
  startService,
} from "../../cli.test-support.js"
import { TopModel } from "./model.js"
import { viewLines } from "./view.js"

// Each test starts processes, which takes long on a busy machine.
vi.setConfig({ testTimeout: 60_000, hookTimeout: 60_000 })

beforeAll(buildCli, 60_000)
afterEach(killAll)

/** Sends six logins, of which the example rules deny one. */
async function sendLogins({ url }: RunningService, ip = "203.0.113.7"): Promise<void> {
  const body = JSON.stringify({ method: "POST", path: "/login", ip })
  for (let i = 0; i < 6; i++) await fetch(`${url}/v1/check`, { method: "POST", body })
}

const ENTER = "\x1b[?1049h"
const LEAVE = "\x1b[?25h\x1b[?1049l"

/** The current content of the screen: everything since it was last drawn from the top. */
function screenOf(output: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: escape codes begin with it
  return output.slice(output.lastIndexOf("\x1b[H")).replace(/\x1b\[[?\d;]*\w/g, "")
}

/** The id of the process that runs in the terminal. */
function childOf(pid: number): number {
  return Number(readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8").trim())
}

describe("in a terminal", () => {
  it("shows rules and keys on the alternate screen, and then restores the old one", async () => {
    const service = await startService()
    const top = inTerminal(["top"], { env: service.env })
    await eventually(() => top.output().includes(ENTER), { within: 20_000 })
    await sendLogins(service)
    const screen = await eventually(
      () => {
        const shown = screenOf(top.output())
        return /login +\d/.test(shown) && shown.includes("ip:203.0.113.7") && shown
      },
      { within: 20_000 },
    )
    expect(screen).toContain(`${service.env.SLUICE_URL} · revision 1 · ready`)
    expect(screen).toContain("KEYS DENIED MOST")
    expect(screen).toContain("q quit")
    expect(screen.split("\r\n").length).toBeLessThanOrEqual(24)
    top.type("u")
    await eventually(() => screenOf(top.output()).includes("KEYS USED MOST"), { within: 20_000 })
    expect(top.output()).not.toContain(LEAVE)
    top.type("q")
    expect(await top.ended).toEqual([0, null])
    expect(top.output().endsWith(LEAVE)).toBe(true)
  })

  it("restores the screen on Ctrl-C and on SIGTERM", async () => {
    const service = await startService()
    const pressed = inTerminal(["top"], { env: service.env })
    await eventually(() => screenOf(pressed.output()).includes("q quit"), { within: 20_000 })
    pressed.type("\x03")
    expect(await pressed.ended).toEqual([0, null])
    expect(pressed.output().endsWith(LEAVE)).toBe(true)
    const signalled = inTerminal(["top"], { env: service.env })
    await eventually(() => screenOf(signalled.output()).includes("q quit"), { within: 20_000 })
    process.kill(childOf(signalled.child.pid as number), "SIGTERM")
    expect(await signalled.ended).toEqual([0, null])
    expect(signalled.output().endsWith(LEAVE)).toBe(true)
  })

  it("shows that the connection is lost, and continues when the service is back", async () => {
    // A reserved port: no other test gets it while the service is down.
    const { port, release } = await reservePort()
    const ports = ["--http.port=0", "--grpc.port=0", `--control.port=${port}`, "--control.open"]
    const service = await startService([], ["serve", ...ports])
    const top = inTerminal(["top"], { env: service.env })
    await eventually(() => screenOf(top.output()).includes("ready"), { within: 20_000 })
    service.child.kill("SIGKILL")
    await eventually(() => screenOf(top.output()).includes("connection lost, trying again"), {
      within: 20_000,
    })
    const again = await startService([], ["serve", ...ports])
    await eventually(() => !screenOf(top.output()).includes("connection lost"), { within: 20_000 })
    await sendLogins(again, "203.0.113.8")
    await eventually(() => screenOf(top.output()).includes("ip:203.0.113.8"), { within: 20_000 })
    await release()
  })

  it("does not switch screens if no service answers", async () => {
    const top = inTerminal(["top", "--url", "http://127.0.0.1:2"])
    expect(await top.ended).toEqual([1, null])
    expect(top.output()).toContain("SERVICE_UNREACHABLE")
    expect(top.output()).not.toContain(ENTER)
  })
})

describe("without a terminal", () => {
  it("prints a snapshot as plain text", async () => {
    const service = await startService()
    let isOver = false
    const looking = sluice(["top"], { env: service.env }).finally(() => {
      isOver = true
    })
    while (!isOver) await sendLogins(service)
    const { code, stdout } = await looking
    expect(code).toBe(0)
    expect(stdout).toMatch(/login +[\d.]+ +[\d.]+/)
    expect(stdout).toContain("ip:203.0.113.7")
    expect(stdout).not.toContain("\x1b")
  })
})

describe("the view", () => {
  const decisions = (id: string, allowed: number, denied: number) => ({
    type: "decisions" as const,
    rules: [{ id, allowed, denied, shadowDenied: 0 }],
    durations: { p50Ms: 0.1, p99Ms: 0.5 },
  })
  const lines = (model: TopModel, width = 100, height = 24) =>
    viewLines(model, "http://x", { width, height }, plainStyle)

  it("shows the mean of five seconds, and of fewer right after the start", () => {
    const model = new TopModel()
    model.update(decisions("api", 10, 0), 100_000)
    expect(model.rate).toMatchObject({ allowed: 10, denied: 0 })
    model.update(decisions("api", 30, 10), 101_000)
    expect(model.rate).toMatchObject({ allowed: 20, denied: 5 })
    model.tick(105_999)
    expect(model.rate).toMatchObject({ allowed: 6, denied: 2 })
    model.tick(106_000)
    expect(model.rate).toMatchObject({ allowed: 0, denied: 0 })
  })

  it("drops a rule after a minute without decisions", () => {
    const model = new TopModel()
    model.update(decisions("api", 1, 0), 100_000)
    model.tick(159_000)
    expect(model.rules.map(({ id }) => id)).toEqual(["api"])
    model.tick(160_000)
    expect(model.rules).toEqual([])
  })

  it("fits into the width and height of the screen", () => {
    const model = new TopModel()
    for (let i = 0; i < 100; i++) model.update(decisions(`rule-${i}`, 100 - i, i), 100_000)
    model.keys = Array.from({ length: 20 }, (_, i) => ({
      rule: "r",
      key: "漢".repeat(300),
      count: i,
      error: 0,
    }))
    const shown = lines(model, 60, 20)
    expect(shown.length).toBeLessThan(20)
    for (const line of shown) expect(stringWidth(line)).toBeLessThanOrEqual(60)
    expect(shown.join("\n")).toMatch(/and \d+ more/)
    expect(shown.join("\n")).toContain("KEYS DENIED MOST")
  })
})
