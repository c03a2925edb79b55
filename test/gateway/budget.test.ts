// The most memory that 1,000 hostile HTTP/1 connections can make the gateway hold.

import type { ServerResponse } from "node:http"
import { afterEach, beforeAll, expect, it } from "vitest"
import { eventually } from "../support/eventually.js"
import { HOSTILE, openHostile, residentMiB, settledMiB } from "../support/hostile.js"
import { buildServer, killAll } from "../support/service-process.js"
import { afterThis, openBackend } from "./bed.js"
import { startGatewayProcess } from "./gateway-process.js"

beforeAll(() => buildServer(), 120_000)
afterEach(() => killAll())

/** One client may have so many connections to the upstream: its other requests wait for one. */
const SHARE = 512

const piece = Buffer.alloc(1 << 18, "x")
/** The kernel takes 4 MiB for a client that does not read. The other 2 MiB of all 512 are three times the budget. */
const MAX_PIECES = 24

/** Answers with an endless body, as fast as the client reads it. */
function pour(response: ServerResponse): void {
  let pieces = 0
  const more = (): void => {
    while (!response.destroyed && pieces++ < MAX_PIECES && response.write(piece));
  }
  response.on("drain", more).on("error", () => undefined)
  more()
}

const head = (line: string, ...headers: string[]) =>
  `${[`${line} HTTP/1.1`, "Host: a", ...headers].join("\r\n")}\r\n\r\n`
/** As long as a head may be, and not whole. */
const filler = Array.from({ length: 100 }, (_, i) => `x-${i}: ${"y".repeat(140)}`)

it.each([
  ["slow readers of an endless answer", head("GET /pour", "TE: x"), SHARE, 300],
  ["pipeliners", head("GET /hold", "TE: x").repeat(4_000), SHARE, 400],
  ["half heads", head("GET /", ...filler).slice(0, -2), 0, 150],
  ["half bodies", head("POST /hold", "Content-Length: 100000000") + "x".repeat(100_000), SHARE, 250],
])(
  `${HOSTILE} connections: %s`,
  async (_, bytes, forwarded, budget) => {
    const backend = await openBackend((request, response) => {
      if (request.url === "/pour") pour(response)
      else if (request.url === "/hold") request.pause()
      else response.end("from the backend")
    })
    const gateway = await startGatewayProcess(backend)
    await (await fetch(gateway.url)).text()
    const before = residentMiB(gateway.child.pid)
    const arrived = (count: number) =>
      eventually(() => backend.seen.length > Math.min(count, forwarded), { what: "they are forwarded" })
    afterThis(await openHostile(gateway.port, bytes, arrived))
    const held = (await settledMiB(gateway.child.pid)) - before
    expect(held).toBeLessThan(budget)
    expect(await (await fetch(gateway.url)).text()).toBe("from the backend")
  },
  60_000,
)
