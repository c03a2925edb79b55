// Writes checks for the script and reads its replies. scripts/main.lua describes every field. The script replies with the
// state that each charge was decided on, and `decode` makes the verdict from it with the same code that decides in memory.

import type { Policy, Verdict } from "../../algorithms/algorithm.js"
import { newVerdict } from "../../algorithms/algorithm.js"
import { startIn } from "../../algorithms/block.js"
import { isConcurrency, judgeHolds } from "../../algorithms/concurrency.js"
import { judgeLog } from "../../algorithms/sliding-window-log.js"
import { holdIdText, newHoldId } from "../hold-id.js"
import { type BegunBlock, type Charge, type Outcome, penalizedIndex, type Settlement } from "../store.js"

export const CHECK = 0
export const DECIDE = 1
export const CHARGE = 2
export const REFUND = 3
export const RELEASE = 4
export const EXTEND = 5
export const SETTLE = 6
export type Operation =
  | typeof CHECK
  | typeof DECIDE
  | typeof CHARGE
  | typeof REFUND
  | typeof RELEASE
  | typeof EXTEND
  | typeof SETTLE

export interface Request {
  readonly operation: Operation
  readonly charges: readonly Charge[]
  /** The storage key of each charge. */
  readonly keys: readonly string[]
  /** Whole microseconds; undefined for the server's clock. */
  readonly at: number | undefined
  /** Called with a copy of the state that each charge is decided on, and the time. Only for operations other than `CHECK`. */
  readonly onState?: ((state: Float64Array, now: number) => void) | undefined
}

/** The keys and the argument of one run of the script. */
export interface Message {
  readonly keys: readonly string[]
  /** A JSON array of numbers, and of the ids of holds. */
  readonly numbers: string
}

/** How long keys are kept, in ms. */
export interface Expiry {
  /** Added to the time that a state needs. */
  readonly bufferMs: number
  readonly minMs: number
}

const BUCKET = 1
/** The y of a fixed window with boundaries. */
const CALENDAR = 2

/** The numbers that main.lua knows the algorithms by. */
const KINDS = {
  "token-bucket": BUCKET,
  "leaky-bucket": BUCKET,
  gcra: BUCKET,
  "fixed-window": 2,
  "sliding-window-counter": 3,
  "sliding-window-log": 4,
  block: 5,
  concurrency: 6,
} as const

/** Writes requests in the compact form if all are checks of one bucket policy at one time, else in the general form. */
export function encode(requests: readonly Request[], { bufferMs, minMs }: Expiry): Message {
  const { keys, numbers } = encodeCompact(requests) ?? encodeGeneral(requests)
  return { keys, numbers: `[${bufferMs},${minMs},${numbers}]` }
}

function encodeCompact(requests: readonly Request[]): Message | undefined {
  const { at, charges } = requests[0] as Request
  const policy = charges[0]?.policy
  if (policy === undefined || KINDS[policy.algorithm.name] !== BUCKET) return undefined
  const keys = new KeyList()
  const order: number[] = []
  /** Whether every key comes once, at cost 1. */
  let isPlain = true
  for (let i = 0; i < requests.length; i++) {
    const request = requests[i] as Request
    const charge = request.charges[0] as Charge
    const { cost } = charge
    if (request.operation !== CHECK || request.charges.length !== 1 || request.at !== at) return undefined
    if (charge.policy !== policy) return undefined
    const index = keys.indexOf(request.keys[0] as string)
    if (cost !== 1 || index !== i + 1) isPlain = false
    order.push(index, cost)
  }
  const head = `0,${at ?? -1},${numbersOf(policy)}`
  return { keys: keys.list, numbers: isPlain ? head : `${head},${order.join()}` }
}

function encodeGeneral(requests: readonly Request[]): Message {
  const keys = new KeyList()
  /** A policy with a calendar as text, because it travels with the boundaries around the time of the request. */
  const policies: (Policy | string)[] = []
  let checks = ""
  for (const request of requests) {
    const { charges } = request
    checks += `,${request.operation},${request.at ?? -1},${charges.length}`
    for (let i = 0; i < charges.length; i++) {
      const charge = charges[i] as Charge
      const { policy, cost } = charge
      const entry = policy.calendar === undefined ? policy : numbersWithBoundaries(policy, request.at)
      let index = policies.indexOf(entry) + 1
      if (index === 0) index = policies.push(entry)
      const amount = charge.penalizes === undefined ? cost : -1 - penalizedIndex(charges, charge)
      checks += `,${keys.indexOf(request.keys[i] as string)},${index},${amount}`
      if (request.operation === REFUND) checks += `,${charge.chargedAt ?? UNKNOWN_TIME}`
      else if (request.operation === SETTLE) checks += `,${correctionOf(charge as Settlement)}`
      if (isConcurrency(policy)) checks += `,"${idIn(charge, request.operation)}"`
    }
  }
  const texts = policies.map((entry) => (typeof entry === "string" ? entry : numbersOf(entry)))
  return { keys: keys.list, numbers: `${policies.length},${texts.join()}${checks}` }
}

/** What main.lua reads where a refund has the time of its charge. */
const UNKNOWN_TIME = -1
const CORRECTIONS = { charge: -2, fill: -3, release: UNKNOWN_TIME, claim: -4 } as const

function correctionOf({ correction, chargedAt }: Settlement): number {
  return correction === "refund" ? (chargedAt ?? UNKNOWN_TIME) : CORRECTIONS[correction]
}

/** The id of the hold of a charge. A charge without one adds a hold that nobody can release. */
function idIn({ hold }: Charge, operation: Operation): string {
  if (hold !== undefined) return holdIdText(hold)
  return operation === CHECK || operation === CHARGE ? holdIdText(newHoldId()) : ""
}

/** The keys of a call, each once. */
class KeyList {
  readonly list: string[] = []
  #indexes: Map<string, number> | undefined

  /** The index of a key, as Lua counts. Adds the key when it is new. */
  indexOf(key: string): number {
    // A call with one key needs no map.
    if (this.list.length === 0) return this.list.push(key)
    this.#indexes ??= new Map([[this.list[0] as string, 1]])
    let index = this.#indexes.get(key)
    if (index === undefined) {
      index = this.list.push(key)
      this.#indexes.set(key, index)
    }
    return index
  }
}

/** The numbers of each policy, as text. */
const numbersByPolicy = /* @__PURE__ */ new WeakMap<Policy, string>()

function numbersOf(policy: Policy): string {
  let numbers = numbersByPolicy.get(policy)
  if (numbers === undefined) {
    const { name } = policy.algorithm
    if (name === "block") return numbersOfBlock(policy)
    const isCounter = name === "sliding-window-counter"
    const x = isCounter ? policy.bucketSize : policy.token
    const y = isCounter ? policy.buckets : name === "fixed-window" ? Number(policy.anchored) : policy.leak
    numbers = [KINDS[name], policy.limit, policy.window, policy.capacity, x, y].join()
    numbersByPolicy.set(policy, numbers)
  }
  return numbers
}

function numbersOfBlock({ penalty }: Policy): string {
  if (penalty === undefined) return `${KINDS.block},0,0,0,0,0,0`
  const { after, within, block, factor, max, forget } = penalty
  return [KINDS.block, after, within, block, factor, max, forget].join()
}

interface BoundariesText {
  readonly boundaries: readonly number[]
  readonly text: string
}

/** The last text of each policy with a calendar. */
const boundariesByPolicy = /* @__PURE__ */ new WeakMap<Policy, BoundariesText>()

/** The numbers of a policy with a calendar, and the boundaries around the time of the request, or around our own time. */
function numbersWithBoundaries(policy: Policy, at: number = Date.now() * 1000): string {
  const boundaries = policy.calendar?.around(at) ?? []
  const last = boundariesByPolicy.get(policy)
  if (last?.boundaries === boundaries) return last.text
  const { limit, window, capacity } = policy
  const text = [
    KINDS["fixed-window"],
    limit,
    window,
    capacity,
    boundaries.length,
    CALENDAR,
    ...boundaries,
  ].join()
  boundariesByPolicy.set(policy, { boundaries, text })
  return text
}

/** How many numbers the script replies for a state that grows: units that count, and two times. */
const GROWING_REPLY_CELLS = 3

/** The state that is being decided. */
let cells = new Float64Array(64)

/** One outcome for each request, in order; undefined when a key of it holds a value that is not a state of its limit. */
export function decode(requests: readonly Request[], reply: Buffer): (Outcome | undefined)[] {
  const numbers = new DataView(reply.buffer, reply.byteOffset, reply.length)
  const time = numbers.getFloat64(0, true)
  return time < 0 ? decodeGeneral(requests, numbers) : decodeCompact(requests, numbers, time)
}

function decodeCompact(requests: readonly Request[], numbers: DataView, now: number): Outcome[] {
  let at = 8
  return requests.map(({ charges }) => {
    const { cost, policy } = charges[0] as Charge
    cells[0] = numbers.getFloat64(at, true)
    cells[1] = numbers.getFloat64(at + 8, true)
    cells[2] = policy.capacity
    cells[3] = policy.token
    cells[4] = policy.leak
    at += 16
    const verdict = newVerdict()
    policy.algorithm.decide(policy, cells, 0, cost, now, verdict)
    return { allowed: verdict.allowed, now, verdicts: [verdict], degraded: undefined }
  })
}

function decodeGeneral(requests: readonly Request[], numbers: DataView): (Outcome | undefined)[] {
  let at = 8
  const next = () => {
    const number = numbers.getFloat64(at, true)
    at += 8
    return number
  }
  return requests.map((request) => {
    const now = next()
    const result = next()
    if (result < 0) return undefined
    const isCharged = result === 1 && request.operation === CHECK
    let begun: BegunBlock[] | undefined
    const verdicts = request.charges.map((charge, i) => {
      const { policy } = charge
      const verdict = newVerdict()
      const cost = costOnSameKey(request, i)
      const { growing } = policy.algorithm
      const count = growing === undefined ? policy.algorithm.cells(policy) : GROWING_REPLY_CELLS
      if (cells.length < count) cells = new Float64Array(count * 2)
      for (let c = 0; c < count; c++) cells[c] = next()
      request.onState?.(cells.slice(0, count), now)
      const started = charge.penalizes === undefined ? undefined : startIn(cells)
      if (started !== undefined)
        begun = [...(begun ?? []), { ...started, limit: penalizedIndex(request.charges, charge) }]
      judge(policy, cost, now, verdict)
      // Another charge of the check was denied, so this one was not charged either: show the state as it is.
      if (!isCharged && verdict.allowed && cost > 0) judge(policy, 0, now, verdict)
      verdict.stale = result === 2
      return verdict
    })
    const outcome = { allowed: result === 1, now, verdicts, degraded: undefined }
    return begun === undefined ? outcome : { ...outcome, begun }
  })
}

/** Writes the verdict on the state in `cells`. */
function judge(policy: Policy, cost: number, now: number, verdict: Verdict): void {
  if (policy.algorithm.name === "sliding-window-log") {
    judgeLog(policy, cells[0] as number, cells[1] as number, cells[2] as number, cost, now, verdict)
  } else if (isConcurrency(policy)) {
    judgeHolds(policy, cells[0] as number, cells[1] as number, cells[2] as number, cost, now, verdict)
  } else {
    policy.algorithm.decide(policy, cells, 0, cost, now, verdict)
  }
}

/** Charges of one check on the same key are decided as their sum. */
function costOnSameKey(request: Request, index: number): number {
  const { charges, keys } = request
  const own = (charges[index] as Charge).cost
  if (own === 0 || charges.length === 1) return own
  let cost = 0
  for (let i = 0; i < keys.length; i++) if (keys[i] === keys[index]) cost += (charges[i] as Charge).cost
  return cost
}
