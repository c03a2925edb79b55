import { describe, expect, it } from "vitest"
import type { LoggedCost, ReplayOptions } from "./model/replay-options.js"
import type { CandidateReport } from "./model/report.js"
import { replay } from "./replay.js"

/** An estimate of 50 of 100 units: two requests pass by their estimates, and more if they cost less. */
const tokens = (cost = "") => `
version: 1
rules:
  - id: tokens
    keyBy: ip
    limits: [{ algorithm: sliding-window-log, limit: 100, window: 1m }]
    cost: { estimate: 50, responseJson: { usage.input: 1, usage.output: 4 }${cost} }
`

const begin = Date.parse("2026-05-17T10:00:00Z")
const iso = (second: number) => new Date(begin + second * 1_000).toISOString()
const clf = (second: number) => `17/May/2026:10:00:${String(second).padStart(2, "0")} +0000`

async function run(
  lines: readonly string[],
  cost?: LoggedCost,
  ruleSet = tokens(),
  format?: ReplayOptions["format"],
) {
  const chunks = [Buffer.from(`${lines.join("\n")}\n`)]
  const { candidates } = await replay(chunks, { rules: [{ name: "rules", ruleSet }], cost, format })
  const [{ allowed, denied, costs }] = candidates as [CandidateReport]
  return { allowed, denied, ...costs }
}

/** Six requests, each with a cost of 20: three of them pass, after which the estimate of 50 does not fit. */
const six = <T>(line: (second: number) => T) => Array.from({ length: 6 }, (_, i) => line(i))
const caddy = (second: number, more: object) =>
  JSON.stringify({
    ts: iso(second),
    request: { remote_ip: "192.0.2.1", method: "POST", uri: "/" },
    size: 77,
    ...more,
  })
const envoy = (second: number, more: object) =>
  JSON.stringify({
    start_time: iso(second),
    method: "POST",
    path: "/",
    downstream_remote_address: "192.0.2.1:1",
    ...more,
  })
const traefik = (second: number, more: object) =>
  JSON.stringify({
    StartUTC: iso(second),
    RequestMethod: "POST",
    RequestPath: "/",
    ClientHost: "192.0.2.1",
    ...more,
  })
const combined = (second: number) => `192.0.2.1 - - [${clf(second)}] "POST / HTTP/1.1" 200 77 "-" "curl"`
const alb = (second: number) =>
  `https ${iso(second)} app/x 192.0.2.1:5000 10.0.0.1:80 0 0 0 200 200 34 77 "POST https://a.example:443/ HTTP/1.1" "curl" - -`
const envoyText = (second: number) =>
  `[${iso(second)}] "POST / HTTP/1.1" 200 - 5 77 0 1 "192.0.2.1" "curl" "id" "a.example" "10.0.0.1:80"`
const cloudfront = (second: number) =>
  `2026-05-17\t10:00:0${second}\tFRA\t77\t192.0.2.1\tPOST\ta.example\t/\t200\t-\tcurl\t-\t-\tMiss\tid\ta.example`
const csv = (line: (second: number) => string) => ["time,ip,path,bytes,tokens", ...six(line)]
const nginx = {
  nginx: '$remote_addr [$time_local] "$request" $status $body_bytes_sent $sent_http_x_tokens',
} as const

const settledSix = { allowed: 3, denied: 3, settled: 3, estimated: 0 }

describe("a rule whose cost comes from the response", () => {
  it("is charged its estimate without a cost in the log, and the report tells how many were", async () => {
    expect(await run(six(combined))).toEqual({ allowed: 2, denied: 4, settled: 0, estimated: 2 })
  })

  it.each([
    ["nested names", "usage.total", six((at) => caddy(at, { usage: { total: 20 } }))],
    ["a name with dots", "usage.total", six((at) => caddy(at, { "usage.total": "20" }))],
    [
      "a header of Caddy",
      "resp_headers.X-Tokens",
      six((at) => caddy(at, { resp_headers: { "X-Tokens": ["20"] } })),
    ],
    ["a field of Envoy", "tokens", six((at) => envoy(at, { tokens: 20 }))],
    ["a header of Traefik", "downstream_X-Tokens", six((at) => traefik(at, { "downstream_X-Tokens": "20" }))],
    ["a column of CSV", "tokens", csv((at) => `${iso(at)},192.0.2.1,/,77,20`)],
    ["a column of CloudFront", "sc-bytes", six(cloudfront).map((line) => line.replace("\t77\t", "\t20\t"))],
  ])("is settled by a field: %s", async (_, field, lines) => {
    expect(await run(lines, { field })).toEqual(settledSix)
  })

  it("is settled by a variable of nginx, and by the size that it logs", async () => {
    const lines = six((at) => `192.0.2.1 [${clf(at)}] "POST / HTTP/1.1" 200 77 20`)
    expect(await run(lines, { field: "sent_http_x_tokens" }, tokens(), nginx)).toEqual(settledSix)
    expect(await run(lines, { bytesPerUnit: 4 }, tokens(), nginx)).toEqual(settledSix)
  })

  it("is settled by the sum of several fields, each with its weight", async () => {
    const lines = six((at) => caddy(at, { usage: { input: 4, output: 3.9 } }))
    expect(await run(lines, { field: { "usage.input": 1, "usage.output": 4 } })).toEqual(settledSix)
  })

  it.each([
    ["combined", six(combined)],
    ["caddy", six((at) => caddy(at, {}))],
    ["traefik", six((at) => traefik(at, { DownstreamContentSize: 77 }))],
    ["envoy", six((at) => envoy(at, { bytes_sent: 77 }))],
    ["envoy, as text", six(envoyText)],
    ["alb", six(alb)],
    ["cloudfront", six(cloudfront)],
    ["csv", csv((at) => `${iso(at)},192.0.2.1,/,77,`)],
  ])("is settled by the size of the response in a log of %s", async (_, lines) => {
    expect(await run(lines, { bytesPerUnit: 4 })).toEqual(settledSix)
  })

  it("keeps the estimate of a request whose line does not tell the cost", async () => {
    const lines = six((at) => caddy(at, { tokens: [20, "none", null, -1, undefined, {}][at] }))
    expect(await run(lines, { field: "tokens" })).toEqual({ allowed: 2, denied: 4, settled: 1, estimated: 1 })
  })

  it("is charged more than the limit has if the log says so and the rule has overdraft: charge", async () => {
    // The second request costs 500. It fills the window, and with overdraft most of the next one.
    const lines = [0, 1, 2].map((at) => caddy(at, { tokens: at === 1 ? 500 : 0 }))
    const counter = (cost: string) => tokens(cost).replace("sliding-window-log", "sliding-window-counter")
    const later = caddy(100, { tokens: 0 })
    expect(await run([...lines, later], { field: "tokens" }, counter(""))).toMatchObject({ denied: 1 })
    expect(await run([...lines, later], { field: "tokens" }, counter(", overdraft: charge"))).toMatchObject({
      denied: 2,
    })
  })

  it("is settled when the request ended, if the log tells how long it took", async () => {
    // Two estimates fill the limit while their requests run: those of the seconds 2 and 5 are denied.
    const lines = six((at) => envoy(at, { duration: 3_000, tokens: 0 }))
    expect(await run(lines, { field: "tokens" })).toEqual({ allowed: 4, denied: 2, settled: 4, estimated: 0 })
    const instant = six((at) => envoy(at, { tokens: 0 }))
    expect(await run(instant, { field: "tokens" })).toMatchObject({ allowed: 6 })
  })

  it("does not change rules with a cost of their own", async () => {
    const fixed = tokens().replace(/cost: .*/, "cost: 50")
    const lines = six((at) => caddy(at, { tokens: 20 }))
    expect(await run(lines, { field: "tokens" }, fixed)).toEqual({
      allowed: 2,
      denied: 4,
      settled: 0,
      estimated: 0,
    })
  })

  it("is refused for a log that cannot tell the cost, and for a cost that makes no sense", async () => {
    await expect(run(six(combined), { field: "tokens" })).rejects.toMatchObject({
      code: "LOG_FORMAT_INVALID",
      place: "cost.field",
    })
    await expect(run(six(combined), { bytesPerUnit: 0 })).rejects.toMatchObject({ code: "OPTION_TYPE" })
    const record = ['{"sluice":"record","version":1}', `{"t":${begin},"i":"192.0.2.1"}`]
    await expect(run(record, { bytesPerUnit: 4 })).rejects.toMatchObject({ place: "cost.bytesPerUnit" })
  })
})
