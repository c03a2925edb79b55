import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { gzipSync } from "node:zlib"
import { type Recommendation, type ReplayReport, replay } from "@sluice/server/replay"
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from "vitest"
import { buildCli, killAll, sluice, sluiceHere, sluiceJson } from "../../cli.test-support.js"

// Each test starts processes, which takes long on a busy machine.
vi.setConfig({ testTimeout: 60_000 })

let folder: string
let log: string
let rules: string

/** Client 1 sends six requests a minute, the others two. One line is broken. */
function logText(): string {
  const lines: string[] = []
  for (let minute = 0; minute < 10; minute++) {
    for (let i = 0; i < 6; i++) lines.push(line(1, minute, i * 9))
    for (let client = 2; client < 6; client++) lines.push(line(client, minute, 5), line(client, minute, 3))
  }
  lines.splice(7, 0, "broken \u001b[31m line")
  return `${lines.join("\n")}\n`
}

function line(client: number, minute: number, second: number): string {
  const at = `${String(minute).padStart(2, "0")}:${String(second).padStart(2, "0")}`
  return `192.0.2.${client} - - [17/May/2026:10:${at} +0000] "GET /items HTTP/1.1" 200 512 "-" "curl"`
}

function rulesText(limit: number): string {
  return `version: 1\nrules:\n  - { id: per-ip, keyBy: ip, limits: [{ algorithm: fixed-window, limit: ${limit}, window: 1m }] }\n`
}

function file(name: string, content: string | Uint8Array): string {
  const path = join(folder, name)
  writeFileSync(path, content)
  return path
}

beforeAll(() => {
  buildCli()
  folder = mkdtempSync(join(tmpdir(), "sluice-replay-"))
  log = file("access.log", logText())
  rules = file("rules.yaml", rulesText(4))
}, 120_000)

afterAll(() => rmSync(folder, { recursive: true }))
afterEach(killAll)

describe("sluice replay", () => {
  it("reports what the rules would have denied, to which clients, and which lines are unreadable", async () => {
    const { code, stdout, stderr } = await sluice(["replay", log, "--rules", rules])
    expect([code, stderr]).toEqual([0, ""])
    expect(stdout).toContain("140 requests from 5 clients, 2026-05-17 10:00:00 to 2026-05-17 10:09:45 UTC")
    expect(stdout).toContain("20 requests denied (14.3%), 1 client affected (20.0%)")
    expect(stdout).toMatch(/per-ip +enforce +140 +20 +0 +ip:192\.0\.2\.1 \(20\)/)
    expect(stdout).toMatch(/ip:192\.0\.2\.1 +60 +20 +33\.3% +2026-05-17 10:00:36/)
    expect(stdout).toContain(
      "1 line could not be read:\n  line 8: no time like 17/May/2015:10:05:03 +0000: broken \\x1b[31m line",
    )
    expect(stdout).toMatch(/█/)
    // Without a terminal there are no escape codes.
    expect(stdout).not.toContain("\u001b")
  })

  it("reads gzipped files, several files and standard input with the same report", async () => {
    const [first, second] = [logText().slice(0, 4_000), logText().slice(4_000)]
    const parts = [
      file("1.log.gz", gzipSync(first.slice(0, first.lastIndexOf("\n")))),
      file("2.log", `${first.slice(first.lastIndexOf("\n") + 1)}${second}`),
    ]
    const whole = await sluiceJson<ReplayReport>(["replay", log, "-r", rules], {}, sluiceHere)
    expect(await sluiceJson(["replay", ...parts, "-r", rules], {}, sluiceHere)).toEqual(whole)
    expect(await sluiceJson(["replay", "-", "-r", rules], { input: logText() })).toEqual(whole)
    expect(whole).toEqual(
      JSON.parse(
        JSON.stringify(
          await replay([Buffer.from(logText())], { rules: [{ name: rules, ruleSet: rulesText(4) }] }),
        ),
      ),
    )
  })

  it("compares files and algorithms side by side", async () => {
    const loose = file("loose.yaml", rulesText(100))
    const { stdout } = await sluiceHere(["replay", log, "-r", rules, "-r", loose])
    expect(stdout).toMatch(
      /Comparison\ncandidate.*\n.*rules\.yaml +20 +14\.3% +1 +20\.0% +2\n.*loose\.yaml +0 +0% +0 /,
    )
    const report = await sluiceJson<ReplayReport>(
      ["replay", log, "-r", rules, "--algorithm", "token-bucket", "--algorithm", "sliding-window-log"],
      {},
      sluiceHere,
    )
    expect(report.candidates.map(({ name }) => name)).toEqual(["token-bucket", "sliding-window-log"])
    expect(report.candidates.map(({ denied }) => denied > 0)).toEqual([true, true])
  })

  it("writes an HTML report with charts", async () => {
    const page = join(folder, "report.html")
    const { code, stderr } = await sluiceHere(["replay", log, "-r", rules, "--html", page])
    expect([code, stderr]).toEqual([0, `wrote ${page}\n`])
    expect(readFileSync(page, "utf8")).toMatch(/^<!doctype html>.*<svg .*ip:192\.0\.2\.1/s)
  })

  it("reads a log_format of nginx and columns of CSV", async () => {
    const custom = file("custom.log", logText().replace(/^(\S+) .*\[(.*?)\] "(.*?)".*$/gm, "$2 $1 <$3>"))
    const format = "$time_local $remote_addr <$request>"
    const report = await sluiceJson<ReplayReport>(
      ["replay", custom, "-r", rules, "--log-format", format],
      {},
      sluiceHere,
    )
    expect(report).toMatchObject({ format: "nginx", requests: 140, candidates: [{ denied: 20 }] })
    const csv = file("log.csv", "when,who\n2026-05-17T10:00:00Z,192.0.2.1\n")
    const columns = ["--column", "time=when", "--column", "ip=who"]
    expect(await sluiceJson(["replay", csv, "-r", rules, ...columns], {}, sluiceHere)).toMatchObject({
      format: "csv",
      requests: 1,
    })
  })

  it("settles costs from responses by a field or the bytes of the log, and says how many", async () => {
    const cost = "cost: { estimate: 4, responseJson: usage.total_tokens }, "
    const tokens = file("tokens.yaml", rulesText(8).replace("limits:", `${cost}limits:`))
    const denied = async (...flags: string[]) => {
      const { stdout } = await sluiceHere(["replay", log, "-r", tokens, ...flags])
      return [/(\d+) requests denied/.exec(stdout)?.[1], /costs from responses: .*/.exec(stdout)?.[0]]
    }
    // Client 1 sends six a minute: two by their estimates, and five if each costs one.
    expect(await denied()).toEqual([
      "40",
      "costs from responses: the log settled 0 requests, and 100 kept their estimate",
    ])
    expect(await denied("--cost-bytes-per-unit", "512")).toEqual([
      "10",
      "costs from responses: the log settled 130 requests, and 0 kept their estimate",
    ])
    const rows = [0, 1, 2].map((second) => `2026-05-17T10:00:0${second}Z,192.0.2.1,2,1`)
    const csv = file("usage.csv", `time,ip,input,output\n${rows.join("\n")}\n`)
    const fields = ["--cost-field", "input", "--cost-field", "output=0.5"]
    expect(await sluiceJson(["replay", csv, "-r", tokens, ...fields], {}, sluiceHere)).toMatchObject({
      candidates: [{ denied: 1, costs: { settled: 2, estimated: 0 } }],
    })
  })

  it.each([
    [["replay", "LOG", "-r", "RULES", "--cost-field", "a=b"], 2, "--cost-field: must be <field> or"],
    [
      ["replay", "LOG", "-r", "RULES", "--cost-field", "a", "--cost-bytes-per-unit", "4"],
      2,
      "--cost-field: cannot be combined",
    ],
    [["replay", "LOG", "-r", "RULES", "--cost-field", "a"], 1, "cost.field: needs a log with named fields"],
    [["replay", "LOG"], 2, "--rules: is required: the rules file to test"],
    [
      ["replay", "LOG", "-r", "RULES", "--column", "age=x"],
      2,
      "--column: must be <field>=<column>, with a field of time, ip",
    ],
    [["replay", "LOG", "-r", "RULES", "--format", "csv", "--log-format", "$request"], 2, "--log-format"],
    [["replay", "missing.log", "-r", "RULES"], 1, "missing.log: cannot be read (ENOENT) [LOG_IO]"],
    [["replay", ".", "-r", "RULES"], 1, ".: cannot be read (EISDIR) [LOG_IO]"],
    [["replay", "LOG", "-r", "missing.yaml"], 1, "missing.yaml"],
    [["replay", "RULES", "-r", "RULES"], 1, "[LOG_FORMAT_UNKNOWN]"],
    [["replay", "LOG", "-r", "RULES", "--format", "alb"], 1, "[LOG_FORMAT_INVALID]"],
    [
      ["replay", "LOG", "-r", "RULES", "--html", "no/such/folder.html"],
      1,
      "cannot be written (ENOENT) [LOG_IO]",
    ],
  ])("reports %j and exits with %d", async (args, code, message) => {
    const named = args.map((arg) => (arg === "LOG" ? log : arg === "RULES" ? rules : arg))
    const result = await sluiceHere(named)
    expect(result.stderr).toContain(message)
    expect(result.stderr).not.toContain("    at ")
    expect(result.code).toBe(code)
  })
})

describe("sluice recommend", () => {
  it("suggests the smallest limit for the share, shows the distribution, and writes a rule for replay", async () => {
    const output = join(folder, "recommended.yaml")
    const args = ["recommend", log, "--algorithm", "fixed-window", "--share", "0.2", "-o", output]
    const { code, stdout, stderr } = await sluiceHere(args)
    expect([code, stderr]).toEqual([0, `wrote ${output}\n`])
    expect(stdout).toContain("A limit of 2 per 1 min would have denied 1 client (20.0%) at least once.")
    expect(stdout).toMatch(/p50 +p75 +p90 +p95 +p99 +p99\.9 +max\n +2 +2 +6 +6 +6 +6 +6\n/)
    expect(stdout).toMatch(/2 +4 █+ {2}← limit/)
    const report = await sluiceJson<ReplayReport>(["replay", log, "-r", output], {}, sluiceHere)
    expect(report.candidates[0]?.rules).toMatchObject([
      { id: "recommended", mode: "shadow", shadowDenied: 40 },
    ])
    const enforced = await sluiceJson<ReplayReport>(
      ["replay", log, "-r", output, "--enforce"],
      {},
      sluiceHere,
    )
    expect(enforced.candidates[0]).toMatchObject({ denied: 40, hurt: { clients: { count: 1, exact: true } } })
  })

  it("uses key, window and match, and prints JSON", async () => {
    const args = [
      "recommend",
      log,
      "-k",
      "ip",
      "-k",
      "method",
      "-w",
      "10m",
      "--path",
      "/items",
      "--method",
      "GET",
    ]
    const found = await sluiceJson<Recommendation>([...args, "--share", "0"], {}, sluiceHere)
    expect(found).toMatchObject({ limit: 60, windowMs: 600_000, denied: { clients: 0 } })
    expect(found.ruleSet.rules[0]).toMatchObject({
      keyBy: ["ip", "method"],
      match: { path: ["/items"], method: ["GET"] },
    })
  })

  it("reports that no request has the key", async () => {
    const { code, stderr } = await sluiceHere(["recommend", log, "-k", "user"])
    expect(code).toBe(1)
    expect(stderr).toContain('must have requests that match and have the key "user"')
  })
})
