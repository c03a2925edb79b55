// A client that costs less than the servers it loads: the same bytes over and over on kept connections, one request in flight
// on each, and of the answers only their length and status are looked at.

import { connect } from "node:net"

const HEAD_END = Buffer.from("\r\n\r\n")
const TWO = 0x32
/** Where the first digit of the status is, in `HTTP/1.1 200 OK`. */
const STATUS_AT = 9

/** @typedef {{ answered: number, perSecond: number, latenciesMs: number[] }} Loaded */

/**
 * @param {object} plan
 * @param {number} plan.port
 * @param {string} [plan.path]
 * @param {string} [plan.body]  JSON to post; without one it is a GET
 * @param {number} plan.connections
 * @param {number} plan.ms
 * @param {number} [plan.perSecond]  requests started each second, answered or not; as many as possible if undefined
 * @returns {Promise<Loaded>}
 */
export async function load({ port, path = "/", body, connections, ms, perSecond }) {
  const lanes = await openLanes({ port, path, body, connections })
  const started = performance.now()
  /** @type {number[]} */
  const latenciesMs = []
  if (perSecond === undefined) {
    for (const lane of lanes) lane.keepBusy()
    await new Promise((resolve) => setTimeout(resolve, ms))
  } else await pace(lanes, perSecond, ms, latenciesMs)
  const seconds = (performance.now() - started) / 1000
  let answered = 0
  for (const lane of lanes) answered += lane.stop()
  return { answered, perSecond: answered / seconds, latenciesMs }
}

/**
 * Connections that stay open between one slice of load and the next.
 * @typedef {object} Connections
 * @property {(ms: number) => Promise<{ answered: number, perSecond: number }>} loadFor  and until all is answered
 * @property {() => void} close
 */

/**
 * @param {object} plan
 * @param {number} plan.port
 * @param {number} plan.connections
 * @returns {Promise<Connections>}
 */
export async function openConnections({ port, connections }) {
  const lanes = await openLanes({ port, path: "/", connections })
  return {
    async loadFor(ms) {
      const before = answeredOn(lanes)
      const started = performance.now()
      for (const lane of lanes) lane.keepBusy()
      await new Promise((resolve) => setTimeout(resolve, ms))
      await Promise.all(lanes.map((lane) => lane.finish()))
      const seconds = (performance.now() - started) / 1000
      const answered = answeredOn(lanes) - before
      return { answered, perSecond: answered / seconds }
    },
    close() {
      for (const lane of lanes) lane.stop()
    },
  }
}

/** @param {readonly Lane[]} lanes */
function answeredOn(lanes) {
  return lanes.reduce((sum, lane) => sum + lane.answered(), 0)
}

/**
 * @param {{ port: number, path: string, body?: string | undefined, connections: number }} plan
 * @returns {Promise<Lane[]>}
 */
async function openLanes({ port, path, body, connections }) {
  const request = requestOf(path, body)
  return await Promise.all(Array.from({ length: connections }, () => openLane(port, request)))
}

/**
 * @param {string} path
 * @param {string | undefined} body
 */
function requestOf(path, body) {
  if (body === undefined) return Buffer.from(`GET ${path} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n`)
  return Buffer.from(
    `POST ${path} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nContent-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
  )
}

/**
 * Starts requests at even distances. Latency is counted from when a request was due, so that a server that holds up its
 * clients is not measured only when it does not.
 * @param {readonly Lane[]} lanes
 * @param {number} perSecond
 * @param {number} ms
 * @param {number[]} latenciesMs
 */
async function pace(lanes, perSecond, ms, latenciesMs) {
  const started = performance.now()
  const idle = [...lanes]
  const everyMs = 1000 / perSecond
  let due = started
  /** @type {number[]} */
  const waiting = []
  /** @type {(lane: Lane, dueAt: number) => void} */
  const send = (lane, dueAt) =>
    lane.ask(() => {
      latenciesMs.push(performance.now() - dueAt)
      const next = waiting.shift()
      if (next === undefined) idle.push(lane)
      else send(lane, next)
    })
  while (performance.now() - started < ms) {
    for (const now = performance.now(); due <= now; due += everyMs) {
      const lane = idle.pop()
      if (lane === undefined) waiting.push(due)
      else send(lane, due)
    }
    await new Promise((resolve) => setImmediate(resolve))
  }
}

/**
 * @typedef {object} Lane
 * @property {() => void} keepBusy
 * @property {(answered: () => void) => void} ask
 * @property {() => Promise<void>} finish  after `keepBusy`: resolves when all requests in flight are answered
 * @property {() => number} answered
 * @property {() => number} stop  tells how many requests were answered
 */

/**
 * @param {number} port
 * @param {Buffer} request
 * @returns {Promise<Lane>}
 */
async function openLane(port, request) {
  const socket = connect({ port, host: "127.0.0.1", noDelay: true })
  await new Promise((resolve, reject) => {
    socket.once("connect", resolve)
    socket.once("error", reject)
  })
  let answered = 0
  let isStopped = false
  let bodyLength = -1
  let lastHead = -1
  /** @type {() => void} */
  let onAnswer = () => {}
  /** What has come of the next answer, when it came in pieces. @type {Buffer | undefined} */
  let rest
  socket.on("data", (chunk) => {
    const data = rest === undefined ? chunk : Buffer.concat([rest, chunk])
    const headEnd = data.indexOf(HEAD_END)
    if (headEnd < 0) {
      rest = data
      return
    }
    // In all cases here, heads of equal length announce bodies of equal length.
    if (
      rest !== undefined ||
      headEnd !== lastHead ||
      data.length !== headEnd + HEAD_END.length + bodyLength
    ) {
      bodyLength = bodyLengthIn(data.toString("latin1", 0, headEnd))
      lastHead = headEnd
    }
    if (data.length < headEnd + HEAD_END.length + bodyLength) {
      rest = data
      return
    }
    rest = undefined
    if (data[STATUS_AT] !== TWO) throw new Error(`answered ${data.toString("latin1", 0, 500)}`)
    answered++
    if (!isStopped) onAnswer()
  })
  return {
    keepBusy() {
      onAnswer = () => void socket.write(request)
      socket.write(request)
    },
    ask(done) {
      onAnswer = done
      socket.write(request)
    },
    finish: () =>
      new Promise((resolve) => {
        onAnswer = resolve
      }),
    answered: () => answered,
    stop() {
      isStopped = true
      socket.destroy()
      return answered
    },
  }
}

/** @param {string} head */
function bodyLengthIn(head) {
  const length = /\r\ncontent-length: (\d+)/i.exec(head)?.[1]
  if (length === undefined) throw new Error(`an answer without a length: ${head}`)
  return Number(length)
}
