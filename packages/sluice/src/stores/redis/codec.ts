// The language between the store and its script: requests and replies as packed little-endian numbers. What the fields mean
// is told in scripts/main.lua. The verdict itself is worked out here, from the state the script judged, by the same code
// that decides in memory.

import type { Policy, Verdict } from "../../algorithms/algorithm.js"
import { newVerdict } from "../../algorithms/algorithm.js"
import { judgeLog } from "../../algorithms/sliding-window-log.js"
import { StoreFailure } from "../fallback/store-failure.js"
import type { Charge, Outcome } from "../store.js"

export const CHECK = 0
export const DECIDE = 1
export const CHARGE = 2
export const REFUND = 3
export type Operation = typeof CHECK | typeof DECIDE | typeof CHARGE | typeof REFUND

export interface Request {
  readonly operation: Operation
  readonly charges: readonly Charge[]
  /** The storage key of each charge. */
  readonly keys: readonly string[]
  /** Whole microseconds; undefined lets the server's clock count. */
  readonly at: number | undefined
}

/** What the script is run with. */
export interface Message {
  readonly keys: readonly string[]
  readonly args: readonly (string | Buffer)[]
}

const HEADER = 8 + 8 + 2
const POLICY = 1 + 5 * 8
const CHECK_HEADER = 1 + 8 + 2
const CHARGE_SIZE = 2 + 2 + 8

/** Places in `kinds` of main.lua. */
const KINDS = {
  "token-bucket": 1,
  "leaky-bucket": 1,
  gcra: 1,
  "fixed-window": 2,
  "sliding-window-counter": 3,
  "sliding-window-log": 4,
  block: 5,
} as const

/** The general form: the distinct keys of the requests, an empty argument that says so, and the packed one. */
export function encode(requests: readonly Request[], bufferMs: number, leastMs: number): Message {
  const keys: string[] = []
  const keyIndex = new Map<string, number>()
  const policies: Policy[] = []
  let charges = 0
  for (const request of requests) {
    charges += request.charges.length
    for (const key of request.keys) {
      if (keyIndex.has(key)) continue
      keys.push(key)
      keyIndex.set(key, keys.length)
    }
    for (const { policy } of request.charges) if (!policies.includes(policy)) policies.push(policy)
  }
  const size = HEADER + policies.length * POLICY + 2 + requests.length * CHECK_HEADER + charges * CHARGE_SIZE
  const blob = Buffer.allocUnsafe(size)
  let at = blob.writeDoubleLE(bufferMs, 0)
  at = blob.writeDoubleLE(leastMs, at)
  at = blob.writeUInt16LE(policies.length, at)
  for (const policy of policies) at = writePolicy(blob, at, policy)
  at = blob.writeUInt16LE(requests.length, at)
  for (const request of requests) {
    at = blob.writeUInt8(request.operation, at)
    at = blob.writeDoubleLE(request.at ?? -1, at)
    at = blob.writeUInt16LE(request.charges.length, at)
    for (let i = 0; i < request.charges.length; i++) {
      const charge = request.charges[i] as Charge
      at = blob.writeUInt16LE(keyIndex.get(request.keys[i] as string) as number, at)
      at = blob.writeUInt16LE(policies.indexOf(charge.policy) + 1, at)
      at = blob.writeDoubleLE(charge.cost, at)
    }
  }
  return { keys, args: ["", blob] }
}

function writePolicy(blob: Buffer, at: number, policy: Policy): number {
  const counter = policy.algorithm.name === "sliding-window-counter"
  const window = policy.algorithm.name === "fixed-window"
  at = blob.writeUInt8(KINDS[policy.algorithm.name], at)
  at = blob.writeDoubleLE(policy.limit, at)
  at = blob.writeDoubleLE(policy.window, at)
  at = blob.writeDoubleLE(policy.capacity, at)
  at = blob.writeDoubleLE(counter ? policy.bucketSize : policy.token, at)
  return blob.writeDoubleLE(counter ? policy.buckets : window ? Number(policy.anchored) : policy.leak, at)
}

/** How many numbers the script replies for a log: units in the window, newest time, time that frees enough. */
const LOG_REPLY = 3

let cells = new Float64Array(64)

/** One outcome per request, in order, or the failure of that request alone. */
export function decode(requests: readonly Request[], reply: Buffer): (Outcome | StoreFailure)[] {
  let at = 0
  const next = () => {
    const value = reply.readDoubleLE(at)
    at += 8
    return value
  }
  return requests.map((request) => {
    const now = next()
    const allowed = next()
    if (allowed < 0) {
      return new StoreFailure(
        "wrong-type",
        `a key of this check holds something else: ${request.keys.join(", ")}`,
      )
    }
    const charged = allowed === 1 && request.operation === CHECK
    const verdicts = request.charges.map(({ policy }, i) => {
      const verdict = newVerdict()
      const cost = costOnSameKey(request, i)
      const count =
        policy.algorithm.name === "sliding-window-log" ? LOG_REPLY : policy.algorithm.cells(policy)
      if (cells.length < count) cells = new Float64Array(count * 2)
      for (let c = 0; c < count; c++) cells[c] = next()
      judge(policy, cost, now, verdict)
      // Nothing was charged: what would have been allowed shows the state as it is.
      if (!charged && verdict.allowed && cost > 0) judge(policy, 0, now, verdict)
      verdict.stale = allowed === 2
      return verdict
    })
    return { allowed: allowed === 1, now, verdicts, degraded: undefined }
  })
}

/** The verdict on the state in `cells`. */
function judge(policy: Policy, cost: number, now: number, verdict: Verdict): void {
  if (policy.algorithm.name === "sliding-window-log") {
    judgeLog(policy, cells[0] as number, cells[1] as number, cells[2] as number, cost, now, verdict)
  } else {
    policy.algorithm.decide(policy, cells, 0, cost, now, verdict)
  }
}

/** Two charges on one key were judged as their sum. */
function costOnSameKey(request: Request, index: number): number {
  const { charges, keys } = request
  const own = (charges[index] as Charge).cost
  if (own === 0 || charges.length === 1) return own
  let cost = 0
  for (let i = 0; i < keys.length; i++) if (keys[i] === keys[index]) cost += (charges[i] as Charge).cost
  return cost
}
