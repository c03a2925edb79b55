// Load from programs that are not ours: h2load for gRPC, redis-benchmark for RESP.

import { execFile } from "node:child_process"
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { promisify } from "node:util"
import { onCore } from "../harness/cores.mjs"
import { ensureTool } from "../harness/set-up.mjs"

const run = promisify(execFile)
const STREAMS = { connections: 8, streams: 32 }
const PIPELINE = 16
const CLIENTS = 50

export const grpcLoad = `h2load, ${STREAMS.connections} connections × ${STREAMS.streams} streams`
export const respLoad = `redis-benchmark, ${CLIENTS} connections, pipeline ${PIPELINE}`

/**
 * Calls per second of a unary method.
 * @param {number} port
 * @param {string} path
 * @param {Buffer} message
 * @param {number} ms
 * @param {number | undefined} core
 */
export async function loadGrpc(port, path, message, ms, core) {
  const folder = mkdtempSync(join(tmpdir(), "sluice-bench-"))
  try {
    const file = join(folder, "message")
    const head = Buffer.alloc(5)
    head.writeUInt32BE(message.length, 1)
    writeFileSync(file, Buffer.concat([head, message]))
    const seconds = String(Math.max(1, Math.round(ms / 1000)))
    const { connections, streams } = STREAMS
    const [program, args] = onCore(core, ensureTool("h2load"), [
      ...["-D", seconds, "-c", String(connections), "-m", String(streams), "-t", "1", "-d", file],
      ...["-H", "content-type: application/grpc", "-H", "te: trailers", `http://127.0.0.1:${port}${path}`],
    ])
    const { stdout } = await run(program, args)
    const perSecond = Number(/finished in [\d.]+\w+, ([\d.]+) req\/s/.exec(stdout)?.[1])
    const [, good = "0", bad = "1"] =
      /status codes: (\d+) 2xx, \d+ 3xx, \d+ 4xx, (\d+) 5xx/.exec(stdout) ?? []
    if (!(perSecond > 0) || Number(good) === 0 || Number(bad) > 0)
      throw new Error(`h2load printed:\n${stdout}`)
    return { perSecond, answered: Number(good) }
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/**
 * Commands per second.
 * @param {number} port
 * @param {readonly string[]} command
 * @param {number} count
 * @param {number | undefined} core
 */
export async function loadResp(port, command, count, core) {
  const [program, args] = onCore(core, ensureTool("redis-benchmark"), [
    ...["-p", String(port), "-c", String(CLIENTS), "-P", String(PIPELINE), "-n", String(count), "-q"],
    ...command,
  ])
  const { stdout } = await run(program, args)
  const perSecond = Number(/([\d.]+) requests per second/.exec(stdout.split("\r").at(-1) ?? "")?.[1])
  if (!(perSecond > 0)) throw new Error(`redis-benchmark printed:\n${stdout}`)
  return { perSecond, answered: count }
}

/** `RateLimitRequest { domain: "edge", descriptors: [{ entries: [{ key: "user", value: "42" }] }] }` */
export const rateLimitRequest = field(1, "edge", field(2, field(1, field(1, "user", field(2, "42")))))

/**
 * A field of text or of a message, and what follows it.
 * @param {number} number
 * @param {string | Buffer} value
 * @param {Buffer} [rest]
 */
function field(number, value, rest = Buffer.alloc(0)) {
  const bytes = Buffer.from(value)
  return Buffer.concat([Buffer.from([(number << 3) | 2, bytes.length]), bytes, rest])
}
