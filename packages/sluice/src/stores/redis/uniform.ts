// The usual call in its short form: checks of one policy, one charge each, all in text that the client need not copy byte by
// byte, and in few arguments, since each costs the client and the server a tenth of a microsecond. What the fields mean is
// told in scripts/uniform.lua.

import type { Policy } from "../../algorithms/algorithm.js"
import { newVerdict } from "../../algorithms/algorithm.js"
import { StoreFailure } from "../fallback/store-failure.js"
import type { Charge, Outcome } from "../store.js"
import type { Message, Request } from "./codec.js"
import { CHECK, decode } from "./codec.js"

/** Keys and costs travel as characters above a space; these stay within ASCII. */
const SPACE = 32
const LARGEST_COST = 90
/** Ends each part of a policy in text. */
const END = "\0"

export class UniformCodec {
  readonly #times: string
  readonly #policies = new WeakMap<Policy, string>()

  constructor(bufferMs: number, leastMs: number) {
    this.#times = part(bufferMs) + part(leastMs)
  }

  /** The short form, or undefined when these requests need the general one. */
  encode(requests: readonly Request[]): Message | undefined {
    const { at, charges } = requests[0] as Request
    const policy = charges[0]?.policy
    const text = policy === undefined ? undefined : this.#textOf(policy)
    if (text === undefined) return undefined
    const keys: string[] = []
    const places = requests.length === 1 ? undefined : new Map<string, number>()
    let isPlain = true
    for (const request of requests) {
      const charge = request.charges[0] as Charge
      const { cost } = charge
      if (
        request.operation !== CHECK ||
        request.charges.length !== 1 ||
        charge.policy !== policy ||
        request.at !== at ||
        cost > LARGEST_COST
      ) {
        return undefined
      }
      const key = request.keys[0] as string
      if (cost !== 1) isPlain = false
      if (places?.has(key)) {
        isPlain = false
        continue
      }
      const place = keys.push(key)
      places?.set(key, place)
    }
    const args = [text]
    if (at !== undefined || !isPlain) args.push(at === undefined ? "" : String(at))
    if (!isPlain) args.push(orderOf(requests, places))
    return { keys, args }
  }

  /** The policy in text, or undefined when it has no short form. */
  #textOf(policy: Policy): string | undefined {
    const known = this.#policies.get(policy)
    if (known !== undefined) return known
    const own = ownField(policy)
    if (own === undefined) return undefined
    const { capacity, token, window } = policy
    const numbers = part(window) + part(own.kind === "b" ? token : 1) + part(capacity)
    const text = part(own.kind) + numbers + this.#times + part(own.number)
    this.#policies.set(policy, text)
    return text
  }
}

/** The kind of a policy, and the number that only this kind has. */
function ownField(policy: Policy): { kind: "b" | "w" | "c"; number: number } | undefined {
  switch (policy.algorithm.name) {
    case "token-bucket":
    case "leaky-bucket":
    case "gcra":
      return { kind: "b", number: policy.leak }
    case "fixed-window":
      return { kind: "w", number: Number(policy.anchored) }
    case "sliding-window-counter":
      return policy.buckets === 1 ? { kind: "c", number: policy.bucketSize } : undefined
    default:
      return undefined
  }
}

/** Place and cost of each request. */
function orderOf(requests: readonly Request[], places: ReadonlyMap<string, number> | undefined): string {
  let order = ""
  for (const { charges, keys } of requests) {
    const place = places?.get(keys[0] as string) ?? 1
    order += String.fromCharCode(SPACE + place, SPACE + (charges[0] as Charge).cost)
  }
  return order
}

function part(value: string | number): string {
  return `${value}${END}`
}

const cells = new Float64Array(4)

/** One outcome per request, in order, or the failure of that request alone. */
export function decodeUniform(requests: readonly Request[], reply: Buffer): (Outcome | StoreFailure)[] {
  const now = reply.readDoubleLE(0)
  // Something was not usual, and the server went on in the general form.
  if (now < 0) return decode(requests, reply.subarray(8))
  const first = requests[0] as Request
  const isCounter = (first.charges[0] as Charge).policy.algorithm.name === "sliding-window-counter"
  if (requests.length === 1) {
    const oldest = isCounter ? reply.readDoubleLE(24) : 0
    return [outcomeOf(first, now, reply.readDoubleLE(8), reply.readDoubleLE(16), oldest)]
  }
  // Reads several times as fast as the methods of Buffer, but takes as long to make as five of those reads.
  const view = new DataView(reply.buffer, reply.byteOffset, reply.length)
  const size = isCounter ? 24 : 16
  return requests.map((request, i) => {
    const at = 8 + i * size
    const oldest = isCounter ? view.getFloat64(at + 16, true) : 0
    return outcomeOf(request, now, view.getFloat64(at, true), view.getFloat64(at + 8, true), oldest)
  })
}

/** `oldest` is of a counter alone. */
function outcomeOf(
  request: Request,
  now: number,
  count: number,
  ahead: number,
  oldest: number,
): Outcome | StoreFailure {
  if (count < 0)
    return new StoreFailure("wrong-type", `the key of this check holds something else: ${request.keys[0]}`)
  const { cost, policy } = request.charges[0] as Charge
  if (policy.token !== 0) {
    cells[0] = count
    cells[1] = now + ahead
    cells[2] = policy.token
    cells[3] = policy.leak
  } else {
    cells[0] = now + ahead
    cells[1] = policy.algorithm.name === "sliding-window-counter" ? policy.bucketSize : policy.window
    cells[2] = count
    cells[3] = oldest
  }
  const verdict = newVerdict()
  policy.algorithm.decide(policy, cells, 0, cost, now, verdict)
  return { allowed: verdict.allowed, now, verdicts: [verdict], degraded: undefined }
}
