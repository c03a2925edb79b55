import { describe, expect, it } from "vitest"
import type { LogFormatOption } from "../model/replay-options.js"
import {
  disordered,
  inChunks,
  NGINX_FORMAT,
  packed,
  traffic,
  type WrittenFormat,
  written,
} from "./log-generator.test-support.js"
import type { LoggedRequest } from "./logged-request.js"
import { type LogSummary, type ReadLogOptions, readLog } from "./read-log.js"

async function read(
  bytes: Uint8Array,
  options: Partial<ReadLogOptions> = {},
  chunkSize?: number,
): Promise<{ requests: LoggedRequest[]; summary: LogSummary }> {
  const requests: LoggedRequest[] = []
  const summary = await readLog(inChunks(bytes, chunkSize), (request) => requests.push(request), {
    headers: true,
    ...options,
  })
  return { requests, summary }
}

function lines(...texts: string[]): Uint8Array {
  return Buffer.from(texts.map((text) => `${text}\n`).join(""))
}

const GOOD = '192.0.2.1 - - [17/May/2026:10:05:03 +0000] "GET /a HTTP/1.1" 200 5'

const FORMATS: readonly [WrittenFormat, string, LogFormatOption | undefined][] = [
  ["common", "common", undefined],
  ["combined", "combined", undefined],
  ["nginx", "nginx", { nginx: NGINX_FORMAT }],
  ["caddy", "caddy", undefined],
  ["traefik", "traefik", undefined],
  ["envoy", "envoy", undefined],
  ["envoyJson", "envoy", undefined],
  ["alb", "alb", undefined],
  ["cloudfront", "cloudfront", undefined],
  ["csv", "csv", undefined],
]

describe.each(FORMATS)("a log written as %s", (format, name, option) => {
  const meant = traffic({ requests: 400 })

  it("is read with all fields, in order, wherever its bytes are split", async () => {
    const { requests, summary } = await read(written(format, meant), { format: option })
    expect(summary).toMatchObject({ format: name, requests: 400, unreadable: { count: 0 } })
    expect(requests.map(({ at, ip, method, path }) => ({ at, ip, method, path }))).toEqual(
      meant.map(({ at, ip, method, path }) => ({ at, ip, method, path })),
    )
    const headers = requests.map((request) => (request.headers as Record<string, unknown>)?.["user-agent"])
    if (format === "caddy") expect(headers).toEqual(meant.map(({ agent }) => [agent]))
    else if (format !== "common" && format !== "csv") expect(headers).toEqual(meant.map(({ agent }) => agent))
  })

  it("gives the same requests when it is gzipped and unsorted", async () => {
    const shuffled = disordered(meant, 20_000)
    const { requests, summary } = await read(packed(written(format, shuffled)), { format: option })
    const byTime = (a: { at: number }, b: { at: number }) => a.at - b.at
    expect(requests.map(({ at, ip, path }) => [at, ip, path])).toEqual(
      [...shuffled].sort(byTime).map(({ at, ip, path }) => [at, ip, path]),
    )
    const stepsBack = shuffled.filter(({ at }, i) => at < (shuffled[i - 1]?.at ?? 0)).length
    expect(summary.disorder).toMatchObject({ lines: stepsBack, late: 0 })
    expect(stepsBack).toBeGreaterThan(50)
  })
})

describe("reading a log", () => {
  it("reads host and user if the format has them", async () => {
    const { requests } = await read(written("alb", traffic({ requests: 1 })))
    expect(requests[0]).toMatchObject({ host: "shop.example.com:443" })
    const named = await read(lines(GOOD.replace("- -", "- frank")))
    expect(named.requests[0]).toMatchObject({ user: "frank" })
    const spaced = await read(lines(GOOD.replace("- -", "- frank miller")))
    expect(spaced.requests[0]).toMatchObject({ user: "frank miller" })
  })

  it("reports unreadable lines with number, reason and text, and continues", async () => {
    const bad = [
      GOOD.replace("17/May", "17/Mai"),
      GOOD.replace("10:05:03", "25:05:03"),
      GOOD.replace('"GET /a HTTP/1.1"', '"\\x16\\x03\\x01"'),
      GOOD.replace('"GET /a HTTP/1.1"', '"-"'),
      GOOD.slice(0, 40),
      "garbage",
    ]
    const { requests, summary } = await read(lines(GOOD, ...bad, "", GOOD, GOOD, GOOD, GOOD, GOOD, GOOD))
    expect(requests).toHaveLength(7)
    expect(summary.lines).toBe(14)
    expect(summary.unreadable.count).toBe(6)
    expect(summary.unreadable.first.map(({ line }) => line)).toEqual([2, 3, 4, 5, 6, 7])
    expect(summary.unreadable.first[3]).toEqual({
      line: 5,
      reason: "no request like GET /path HTTP/1.1",
      text: bad[3],
    })
  })

  it("keeps the first twenty of many unreadable lines, and counts all", async () => {
    const { summary } = await read(lines(GOOD, ...Array.from({ length: 30 }, () => "x")), {
      format: "combined",
    })
    expect(summary.unreadable.count).toBe(30)
    expect(summary.unreadable.first).toHaveLength(20)
  })

  it("reads requests with escapes, absolute targets, no version and odd methods", async () => {
    const request = (text: string) => GOOD.replace("GET /a HTTP/1.1", text)
    const { requests } = await read(
      lines(
        request("GET /say?x=\\x22hi\\x22 HTTP/1.1"),
        request('GET /a\\"b HTTP/1.1'),
        request("GET http://www.example.com/x?y HTTP/1.1"),
        request("GET /old"),
        request("PROPFIND /dav HTTP/1.1"),
        request("OPTIONS * HTTP/1.1"),
        request("GET /with space HTTP/1.1"),
      ),
      { format: "combined" },
    )
    expect(requests.map(({ method, host, path }) => [method, host, path])).toEqual([
      ["GET", undefined, '/say?x="hi"'],
      ["GET", undefined, '/a"b'],
      ["GET", "www.example.com", "/x?y"],
      ["GET", undefined, "/old"],
      ["PROPFIND", undefined, "/dav"],
      ["OPTIONS", undefined, "*"],
      ["GET", undefined, "/with space"],
    ])
  })

  it("reads line ends of Windows, a byte order mark, a last line without an end, and UTF-8", async () => {
    const text = `\uFEFFtime;ip;path\r\n2026-05-17 10:05:03;192.0.2.1;/größe\r\n1779012304;192.0.2.2;/日本`
    // A byte at a time, so that characters come in pieces.
    const { requests, summary } = await read(Buffer.from(text), {}, 1)
    expect(summary).toMatchObject({ format: "csv", lines: 3, requests: 2 })
    expect(requests.map(({ at, path }) => [new Date(at).toISOString(), path])).toEqual([
      ["2026-05-17T10:05:03.000Z", "/größe"],
      ["2026-05-17T10:05:04.000Z", "/日本"],
    ])
  })

  it("sorts requests within a second, and keeps the order of equal times", async () => {
    const times = [500, 100, 900, 100, 300].map((ms) => Date.UTC(2026, 4, 17, 10, 5, 3, ms))
    const { requests } = await read(lines("time,path", ...times.map((at, i) => `${at},/${i}`)))
    expect(requests.map(({ path }) => path)).toEqual(["/1", "/3", "/4", "/0", "/2"])
  })

  it("reads the columns with the given names", async () => {
    const { requests } = await read(lines("when,who,what", "2026-05-17T10:05:03Z,192.0.2.1,/a"), {
      format: { csv: { time: "when", ip: "who", path: "what" } },
    })
    expect(requests).toMatchObject([{ at: Date.UTC(2026, 4, 17, 10, 5, 3), ip: "192.0.2.1", path: "/a" }])
  })

  it("finds the end of times and requests without quotes", async () => {
    const { requests } = await read(lines("17/May/2026:10:05:03 +0000 192.0.2.1 GET /a b HTTP/1.1 200"), {
      format: { nginx: "$time_local $remote_addr $request $status" },
    })
    expect(requests).toMatchObject([{ at: Date.UTC(2026, 4, 17, 10, 5, 3), ip: "192.0.2.1", path: "/a b" }])
  })

  it("does not buffer an endless line", async () => {
    const endless = Buffer.alloc(3_000_000, "x")
    const bytes = Buffer.concat([lines(GOOD), endless, lines("", GOOD)])
    const { summary } = await read(bytes, { format: "combined" })
    expect(summary).toMatchObject({ lines: 3, requests: 2, unreadable: { count: 1 } })
    expect(summary.unreadable.first[0]).toMatchObject({ line: 2, reason: "longer than 1048576 bytes" })
  })

  it("counts lines that are too late to be sorted, and returns them when they come", async () => {
    const at = (time: string) => GOOD.replace("10:05:03", time)
    const { requests, summary } = await read(
      lines(at("10:05:03"), at("10:05:01"), at("10:07:30"), at("10:05:02"), at("10:07:29")),
      { disorderMs: 60_000 },
    )
    expect(requests.map((request) => new Date(request.at).toISOString().slice(14, 19))).toEqual([
      "05:01",
      "05:03",
      "05:02",
      "07:29",
      "07:30",
    ])
    expect(summary.disorder).toEqual({ lines: 2, longestMs: 148_000, late: 1 })
  })
})

describe("a log that cannot be read", () => {
  it("is refused when no format fits it", async () => {
    await expect(read(lines("May 17 10:05:03 web1 hello", "and more"))).rejects.toMatchObject({
      code: "LOG_FORMAT_UNKNOWN",
      found: "May 17 10:05:03 web1 hello",
    })
    await expect(read(new Uint8Array())).rejects.toMatchObject({ code: "LOG_FORMAT_UNKNOWN" })
  })

  it.each([
    ['$remote_addr "$request"', "must have a time: $time_local, $time_iso8601, $msec"],
    [
      "[$time_local] $remote_addr",
      "must have what was asked for: $request, or $request_method and $request_uri",
    ],
    ['[$time_local] "$request" $status$bytes', "must have text after $status, to find its end"],
  ])("is refused when its log_format is %s", async (nginx, expected) => {
    await expect(read(lines(GOOD), { format: { nginx } })).rejects.toMatchObject({
      code: "LOG_FORMAT_INVALID",
      expected,
    })
  })

  it("is refused when a column is missing", async () => {
    await expect(read(lines("a,b"), { format: { csv: { time: "c" } } })).rejects.toMatchObject({
      code: "LOG_FORMAT_INVALID",
      place: "format.csv.time",
      found: "c",
    })
  })

  it("is refused when its gzip stream is truncated", async () => {
    const whole = packed(written("combined", traffic({ requests: 500 })))
    await expect(read(whole.subarray(0, whole.length - 20))).rejects.toMatchObject({ code: "LOG_IO" })
  })

  it("ends with the reason of the signal", async () => {
    const controller = new AbortController()
    const reason = new Error("enough")
    const reading = read(written("combined", traffic()), {
      signal: controller.signal,
      onProgress: ({ lines }) => lines > 100 && controller.abort(reason),
    })
    await expect(reading).rejects.toBe(reason)
  })
})

describe("a log that begins with the host", () => {
  const rest = '- frank [17/May/2026:10:05:03 +0000] "GET /a HTTP/1.1" 200 5 "-" "agent"'

  it.each([
    ["vhost_combined of Apache", "www.example.com:443", "www.example.com"],
    ["nginx with $host in front", "www.example.com", "www.example.com"],
  ])("is read with its address and its host: %s", async (_name, first, host) => {
    const { requests, summary } = await read(
      lines(`${first} 192.0.2.1 ${rest}`, `${first} 2001:db8::1 ${rest}`),
    )
    expect(summary).toMatchObject({ format: "combined", requests: 2, unreadable: { count: 0 } })
    expect(requests.map(({ ip }) => ip)).toEqual(["192.0.2.1", "2001:db8::1"])
    expect(requests[0]).toMatchObject({ host, user: "frank", path: "/a" })
  })
})

describe("a log that is not understood", () => {
  const unknownShape = '{"time":"2026-05-17T10:05:03Z","client":{"address":"192.0.2.1"},"url":"/a"}'

  it("is refused when it is JSON of an unknown shape, and is not read as CSV", async () => {
    await expect(read(lines(unknownShape, unknownShape))).rejects.toMatchObject({
      code: "LOG_FORMAT_UNKNOWN",
    })
    const flat = '{"time":"2026-05-17T10:05:03Z","ip":"192.0.2.1","path":"/a"}'
    await expect(read(lines(flat, flat))).rejects.toMatchObject({ code: "LOG_FORMAT_UNKNOWN" })
  })

  it("is refused when no line fits the given format, with the reason", async () => {
    await expect(read(lines(unknownShape), { format: "combined" })).rejects.toMatchObject({
      code: "LOG_FORMAT_INVALID",
      message: expect.stringContaining("line 1: no time in brackets"),
    })
  })

  it("is refused when it has host names instead of addresses", async () => {
    const names = GOOD.replace("192.0.2.1", "crawler.example.com")
    await expect(read(lines(names, names))).rejects.toMatchObject({ code: "LOG_FORMAT_UNKNOWN" })
  })
})

it("counts a line without a valid address as unreadable", async () => {
  const { summary } = await read(lines(GOOD, GOOD.replace("192.0.2.1", "unknown"), GOOD))
  expect(summary).toMatchObject({
    requests: 2,
    unreadable: { count: 1, first: [{ line: 2, reason: '"-" is no address' }] },
  })
})
