import { afterAll, beforeAll, describe, expect, it, vi } from "vitest"
import {
  buildCli,
  type Folder,
  killAll,
  sluice,
  sluiceHere,
  sluiceJson,
  startServiceHere,
  temporaryFolder,
} from "../cli.test-support.js"

// Each test starts processes, which takes long on a busy machine.
vi.setConfig({ testTimeout: 60_000, hookTimeout: 60_000 })

const RULES = `version: 1
rules:
  - { id: login, match: { method: POST, path: /login }, keyBy: ip, limits: [{ algorithm: sliding-window-log, limit: 2, window: 15m }] }
  - { id: search, keyBy: user, match: { path: /search }, limits: [{ algorithm: fixed-window, limit: 20, window: 1h }] }
  - { id: strict, keyBy: user, match: { path: /strict }, limits: [{ name: tries, limit: 1, window: 1h, penalty: { after: 2, within: 1h, block: 1h } }] }
  - { id: per-user, match: { path: /v1/** }, keyBy: user, limits: [{ algorithm: token-bucket, limit: 100, window: 1m }] }
`

let folder: Folder
let file: string
let service: Awaited<ReturnType<typeof startServiceHere>>

beforeAll(async () => {
  buildCli()
  folder = temporaryFolder()
  file = folder.write("rules.yaml", RULES)
  service = await startServiceHere(["--rules.file", file])
})

afterAll(async () => {
  await killAll()
  folder.remove()
})

const run = (...args: string[]) => sluiceHere(args, { env: service.env })

describe("check", () => {
  it("calls the service, charges the key, and exits with 1 for a denial", async () => {
    const ask = () => sluice(["check", "ip:192.0.2.1", "-X", "post", "-p", "/login"], { env: service.env })
    expect(await ask()).toMatchObject({ code: 0, stdout: "allowed by login (2/15m): 1 of 2 left\n" })
    expect(await ask()).toMatchObject({ code: 0, stdout: "allowed by login (2/15m): 0 of 2 left\n" })
    const denied = await ask()
    expect(denied.code).toBe(1)
    expect(denied.stdout).toMatch(/^denied by login \(2\/15m\): 0 of 2 left, retry in 1[45]m/)
  })

  it("checks one rule by its key, with a cost", async () => {
    const decision = await sluiceJson<{ remaining: number; key: string }>(
      ["check", "user:7", "--rule", "per-user", "--cost", "40"],
      { env: service.env },
      sluiceHere,
    )
    expect(decision).toMatchObject({ allowed: true, remaining: 60, key: "user:7", reason: "within-limits" })
  })

  it("decides by a rules file, several times with --times", async () => {
    const { code, stdout } = await run(
      "check",
      "ip:192.0.2.1",
      "-X",
      "POST",
      "-p",
      "/login",
      "--rules",
      file,
      "-n",
      "3",
    )
    expect(code).toBe(1)
    expect(stdout.split("\n").map((line) => line.split(" ")[0])).toEqual(["allowed", "allowed", "denied", ""])
    const decisions = await sluiceJson<object[]>(["check", "--rules", file, "-n", "2"], {}, sluiceHere)
    expect(decisions).toMatchObject([{ reason: "no-rule", limit: null }, { allowed: true }])
  })

  it.each([
    [["bob"], 'key: must be ip:…, user:… or apiKey:…, unless you name a rule with --rule, got "bob"'],
    [["user:1", "user:2"], 'key: user may be given only once, got "user:2"'],
    [["user:1", "-H", "nothing"], "--header: must look like 'x-plan: pro'"],
    [["user:1", "--rule", "login", "--path", "/x"], "--path: cannot be combined with --rule"],
    [["--rule", "login"], "key: exactly one key is required with --rule"],
    [["--rules", "a", "--url", "http://b"], "--rules: cannot be combined with --url"],
  ])("refuses invalid arguments: %j", async (args, message) => {
    const { code, stderr } = await sluiceHere(["check", ...args], { env: service.env })
    expect(code).toBe(2)
    expect(stderr).toContain(message)
  })

  it("reports the error of the service for an unknown rule", async () => {
    const { code, stderr } = await run("check", "user:1", "--rule", "nope")
    expect(code).toBe(1)
    expect(stderr).toContain("[RULE_UNKNOWN]")
  })
})

describe("explain", () => {
  it("shows the rules that apply, and charges nothing", async () => {
    for (let i = 0; i < 3; i++) {
      const { code, stdout, stderr } = await run("explain", "user:11", "-p", "/v1/items")
      expect(code).toBe(0)
      expect(stdout).toContain(
        "● per-user: the path matches /v1/**\n  key user:11, cost 1\n  100/1m: 100 of 100 left\n",
      )
      expect(stdout).not.toContain("login")
      expect(stderr).toContain("3 rules do not apply (shown with --all)")
    }
  })

  it("shows why a rule of a file does not apply", async () => {
    const { stdout } = await run("explain", "user:11", "-p", "/login", "--rules", file, "--all")
    expect(stdout).toContain('○ login: method is "GET", and must be POST')
  })
})

describe("keys", () => {
  const key = ["login", "ip:198.51.100.9"]
  const charge = () => run("check", key[1] as string, "-X", "POST", "-p", "/login", "-n", "2")

  it("say when the next unit is free, also by a peek of check", async () => {
    await run("check", "user:next", "--rule", "search", "--cost", "20")
    const { code, stdout } = await run("check", "user:next", "--rule", "search", "--cost", "0")
    expect(code).toBe(0)
    expect(stdout).toMatch(/^allowed by search \(20\/1h\): 0 of 20 left, the next unit in [\dhms ]+\n$/)
  })

  it("are listed with the reason of their block, and shown with it", async () => {
    for (let i = 0; i < 4; i++) await run("check", "user:bad", "--rule", "strict")
    await run("keys", "block", "search", "user:worse", "--for", "2h")
    const { stdout } = await run("keys", "blocked")
    expect(stdout).toMatch(/^RULE +KEY +BLOCKED +FOR ANOTHER +WHY\n/)
    expect(stdout).toMatch(/\nsearch +user:worse +[\dms.]+ ago +(2h|1h \d+m) +by hand\n/)
    expect(stdout).toMatch(/\nstrict +user:bad +[\dms.]+ ago +(1h|\d+m[\ds ]*) +tries: 2 denials\n$/)
    const shown = await run("keys", "get", "strict", "user:bad")
    expect(shown.stdout).toMatch(
      /\ntries: blocked the key [\dms.]+ ago, because it was denied too often \(block 1\)\n$/,
    )
    for (const key of [
      ["strict", "user:bad"],
      ["search", "user:worse"],
    ])
      await run("keys", "unblock", ...key)
    expect((await run("keys", "blocked")).stderr).toContain("no key is blocked")
    const list = await sluiceJson<object>(["keys", "blocked"], { env: service.env }, sluiceHere)
    expect(list).toEqual({ blocks: [], complete: true })
  })

  it("are shown and reset", async () => {
    await charge()
    const used = await run("keys", "get", ...key)
    expect(used.code).toBe(1)
    expect(used.stdout).toMatch(
      /^key ip:198\.51\.100\.9 of rule login: denied\nLIMIT {2}USED {2}OF {2}LEFT {2}WINDOW {2}NEXT IN {2}RESETS IN\n2\/15m +2 +2 +0 +15m +1[45]m.* +1[45]m/,
    )
    expect(used.stdout).toMatch(/\n2\/15m: oldest charge [\d.]+m?s ago, newest [\d.]+m?s ago\n$/)
    const reset = await run("keys", "reset", ...key)
    expect(reset.code).toBe(0)
    expect(reset.stdout).toContain("allowed")
    expect(await sluiceJson<object>(["keys", "get", ...key], { env: service.env }, sluiceHere)).toMatchObject(
      {
        allowed: true,
      },
    )
  })

  it("are shown with the units of each bucket", async () => {
    await run("check", "user:3", "--rule", "search", "--cost", "7")
    const { code, stdout } = await run("keys", "get", "search", "user:3")
    expect(code).toBe(0)
    expect(stdout).toMatch(/\n20\/1h +7 +20 +13 +1h /)
    expect(stdout).toMatch(/\n20\/1h: by bucket of 1h, newest first: 7 \(since [\dms. ]+ ago\)\n$/)
  })

  it("are blocked and unblocked", async () => {
    const blocked = await run("keys", "block", "login", "ip:198.51.100.8", "--for", "10m")
    expect(blocked.stdout).toContain("key ip:198.51.100.8 of rule login: denied, blocked for 10m\n")
    expect((await run("check", "ip:198.51.100.8", "-X", "POST", "-p", "/login")).stdout).toContain(
      "the key is blocked",
    )
    expect((await run("keys", "unblock", "login", "ip:198.51.100.8")).stdout).toContain(
      "of rule login: allowed\n",
    )
  })

  it("are listed by the number of denials, with control characters escaped", async () => {
    const forged = "ip:198.51.100.7\x1b[2J"
    for (let i = 0; i < 5; i++) await run("check", forged, "--rule", "login")
    const { stdout } = await run("keys", "top")
    expect(stdout).toMatch(/3 +login +ip:198\.51\.100\.7\\x1b\[2J\n/)
    expect(stdout).not.toContain("\x1b")
    const keys = await sluiceJson<{ key: string }[]>(
      ["keys", "top", "--by", "used", "-n", "1"],
      { env: service.env },
      sluiceHere,
    )
    expect(keys).toHaveLength(1)
  })

  it("need the control plane, and the error for a data plane says so", async () => {
    const { code, stderr } = await run("keys", "top", "--url", service.url)
    expect(code).toBe(1)
    expect(stderr).toContain("[PATH_UNKNOWN]")
    expect(stderr).toContain(`${service.url} may be the other one`)
  })
})
