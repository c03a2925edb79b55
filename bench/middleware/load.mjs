// A client that costs less than the cheapest server it loads: the same bytes over and over on kept connections, one request
// in flight on each, and of the answers only their length and status are looked at.

import { connect } from "node:net"

const REQUEST = Buffer.from("GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
const HEAD_END = Buffer.from("\r\n\r\n")
const TWO = 0x32
/** Where the first digit of the status is, in `HTTP/1.1 200 OK`. */
const STATUS_AT = 9

/**
 * @param {number} port
 * @param {object} size
 * @param {number} size.connections
 * @param {number} size.ms
 * @returns {Promise<{ answered: number, perSecond: number }>}
 */
export async function load(port, { connections, ms }) {
  const lanes = await Promise.all(Array.from({ length: connections }, () => openLane(port)))
  const started = performance.now()
  for (const lane of lanes) lane.start()
  await new Promise((resolve) => setTimeout(resolve, ms))
  const seconds = (performance.now() - started) / 1000
  let answered = 0
  for (const lane of lanes) answered += lane.stop()
  return { answered, perSecond: answered / seconds }
}

/**
 * @typedef {object} Lane
 * @property {() => void} start
 * @property {() => number} stop  tells how many requests were answered
 */

/**
 * @param {number} port
 * @returns {Promise<Lane>}
 */
async function openLane(port) {
  const socket = connect({ port, host: "127.0.0.1", noDelay: true })
  await new Promise((resolve, reject) => {
    socket.once("connect", resolve)
    socket.once("error", reject)
  })
  let answered = 0
  let isStopped = false
  let bodyLength = -1
  /** What has come of the next answer, when it came in pieces. @type {Buffer | undefined} */
  let rest
  socket.on("data", (chunk) => {
    const data = rest === undefined ? chunk : Buffer.concat([rest, chunk])
    const headEnd = data.indexOf(HEAD_END)
    if (headEnd < 0) {
      rest = data
      return
    }
    if (bodyLength < 0) bodyLength = bodyLengthIn(data.toString("latin1", 0, headEnd))
    if (data.length < headEnd + HEAD_END.length + bodyLength) {
      rest = data
      return
    }
    rest = undefined
    if (data[STATUS_AT] !== TWO) throw new Error(`answered ${data.toString("latin1", 0, 20)}`)
    answered++
    if (!isStopped) socket.write(REQUEST)
  })
  return {
    start: () => void socket.write(REQUEST),
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
