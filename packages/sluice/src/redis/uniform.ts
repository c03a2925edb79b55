// The usual call in its short form: checks of one bucket policy, one charge each, all in text that the client need not copy
// byte by byte. What the fields mean is told in scripts/uniform.lua.

import type { Policy } from "../algorithms/algorithm.js"
import { newVerdict } from "../algorithms/algorithm.js"
import { StoreFailure } from "../resilience/store-failure.js"
import type { Charge, Outcome } from "../stores/store.js"
import type { Request } from "./codec.js"
import { CHECK, decode } from "./codec.js"

/** Keys and costs travel as characters above a space; these stay within ASCII. */
const SPACE = 32
const LARGEST_COST = 90

interface UniformCall {
  readonly keys: string[]
  readonly args: string[]
}

const numbers = new WeakMap<Policy, readonly string[]>()

/** The short form, or undefined when these requests need the general one. */
export function encodeUniform(
  requests: readonly Request[],
  bufferMs: number,
  leastMs: number,
): UniformCall | undefined {
  const first = requests[0]
  const policy = first?.charges[0]?.policy
  if (policy === undefined || policy.token === 0) return undefined
  const { at } = first as Request
  const keys: string[] = []
  const places = new Map<string, number>()
  let order = ""
  let plain = true
  for (const { operation, charges, keys: own, at: time } of requests) {
    const charge = charges[0] as Charge
    const { cost } = charge
    if (
      operation !== CHECK ||
      charges.length !== 1 ||
      charge.policy !== policy ||
      time !== at ||
      cost > LARGEST_COST
    ) {
      return undefined
    }
    const key = own[0] as string
    let place = places.get(key)
    if (place === undefined) {
      place = keys.push(key)
      places.set(key, place)
    } else plain = false
    if (cost !== 1) plain = false
    order += String.fromCharCode(SPACE + place, SPACE + cost)
  }
  const time = at === undefined ? "" : String(at)
  return { keys, args: [...numbersOf(policy), String(bufferMs), String(leastMs), time, plain ? "" : order] }
}

function numbersOf(policy: Policy): readonly string[] {
  let texts = numbers.get(policy)
  if (texts === undefined) {
    texts = [policy.window, policy.token, policy.leak, policy.capacity].map(String)
    numbers.set(policy, texts)
  }
  return texts
}

const cells = new Float64Array(3)

/** One outcome per request, in order, or the failure of that request alone. */
export function decodeUniform(requests: readonly Request[], reply: Buffer): (Outcome | StoreFailure)[] {
  const now = reply.readDoubleLE(0)
  // Something was not usual, and the server went on in the general form.
  if (now < 0) return decode(requests, reply.subarray(8))
  return requests.map(({ charges, keys }, i) => {
    const { cost, policy } = charges[0] as Charge
    const debt = reply.readDoubleLE(8 + i * 16)
    if (debt < 0)
      return new StoreFailure("wrong-type", `the key of this check holds something else: ${keys[0]}`)
    cells[0] = debt
    cells[1] = now + reply.readDoubleLE(16 + i * 16)
    cells[2] = policy.token
    const verdict = newVerdict()
    policy.algorithm.decide(policy, cells, 0, cost, now, verdict)
    return { allowed: verdict.allowed, now, verdicts: [verdict], degraded: undefined }
  })
}
