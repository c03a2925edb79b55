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
  const clients = await openClients({ port, path, body, connections })
  const started = performance.now()
  /** @type {number[]} */
  const latenciesMs = []
  if (perSecond === undefined) {
    for (const client of clients) client.keepBusy()
    await new Promise((resolve) => setTimeout(resolve, ms))
  } else await pace(clients, perSecond, ms, latenciesMs)
  const seconds = (performance.now() - started) / 1000
  let answered = 0
  for (const client of clients) answered += client.stop()
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
  const clients = await openClients({ port, path: "/", connections })
  return {
    async loadFor(ms) {
      const before = answeredOn(clients)
      const started = performance.now()
      for (const client of clients) client.keepBusy()
      await new Promise((resolve) => setTimeout(resolve, ms))
      await Promise.all(clients.map((client) => client.finish()))
      const seconds = (performance.now() - started) / 1000
      const answered = answeredOn(clients) - before
      return { answered, perSecond: answered / seconds }
    },
    close() {
      for (const client of clients) client.stop()
    },
  }
}

/** @param {readonly Client[]} clients */
function answeredOn(clients) {
  return clients.reduce((sum, client) => sum + client.answered(), 0)
}

/**
 * @param {{ port: number, path: string, body?: string | undefined, connections: number }} plan
 * @returns {Promise<Client[]>}
 */
async function openClients({ port, path, body, connections }) {
  const request = requestOf(path, body)
  return await Promise.all(Array.from({ length: connections }, () => openClient(port, request)))
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
 * @param {readonly Client[]} clients
 * @param {number} perSecond
 * @param {number} ms
 * @param {number[]} latenciesMs
 */
async function pace(clients, perSecond, ms, latenciesMs) {
  const started = performance.now()
  const idle = [...clients]
  const everyMs = 1000 / perSecond
  let due = started
  /** @type {number[]} */
  const waiting = []
  /** @type {(client: Client, dueAt: number) => void} */
  const send = (client, dueAt) =>
    client.ask(() => {
      latenciesMs.push(performance.now() - dueAt)
      const next = waiting.shift()
      if (next === undefined) idle.push(client)
      else send(client, next)
    })
  while (performance.now() - started < ms) {
    for (const now = performance.now(); due <= now; due += everyMs) {
      const client = idle.pop()
      if (client === undefined) waiting.push(due)
      else send(client, due)
    }
    await new Promise((resolve) => setImmediate(resolve))
  }
}

/**
 * @typedef {object} Client
 * @property {() => void} keepBusy
 * @property {(answered: () => void) => void} ask
 * @property {() => Promise<void>} finish  after `keepBusy`: resolves when all requests in flight are answered
 * @property {() => number} answered
 * @property {() => number} stop  tells how many requests were answered
 */

/**
 * @param {number} port
 * @param {Buffer} request
 * @returns {Promise<Client>}
 */
async function openClient(port, request) {
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
