// What must hold for every input.

import type { Heard } from "./conversation.js"
import type { Seen } from "./plain-server.js"
import type { BenchSeen } from "./targets.js"

export interface Observation {
  /** What a plain node:http server saw, without anything in front of it. */
  readonly reference: readonly Seen[]
  readonly seen: BenchSeen
  /** What the client read from the gateway, and from the check API. */
  readonly gateway: readonly Heard[]
  readonly service: readonly Heard[]
  readonly never: string | undefined
}

/** RFC 9110 and 9112 have these for an encoding or a version that is not understood: no failure of ours. */
const REFUSALS = [501, 505]

/** The problem, or undefined. */
export function differences({ reference, seen, gateway, service, never }: Observation): string[] {
  const wrong: string[] = []
  const { forwarded, malformed } = seen
  const add = (what: string, ...values: unknown[]) =>
    wrong.push(`${what}: ${values.map((value) => JSON.stringify(value)?.slice(0, 400)).join(" / ")}`)
  if (!isWithin(forwarded, reference))
    add("the gateway forwards what node:http does not see", forwarded, reference)
  if (malformed.length > 0) add("the gateway forwards what is not HTTP", malformed)
  if (never !== undefined && forwarded.some(({ method, url }) => `${method} ${url}` === never))
    add("the gateway forwards what stands behind a refused request", forwarded)
  if (service.filter(({ status }) => status < 400).length > reference.length)
    add("the check API answers more requests than node:http sees", statuses(service), reference)
  for (const answers of [gateway, service])
    if (answers.some(({ status }) => status >= 500 && !REFUSALS.includes(status)))
      add("bad input is answered with a failure", statuses(answers))
  return wrong
}

function statuses(answers: readonly Heard[]): number[] {
  return answers.map(({ status }) => status)
}

/** Whether these are some of the others, in their order. The gateway may refuse more, and brings paths into one form. */
function isWithin(some: readonly Seen[], all: readonly Seen[]): boolean {
  let at = 0
  for (const { method, body } of some) {
    while (at < all.length && !(all[at]?.method === method && all[at]?.body === body)) at++
    if (at++ >= all.length) return false
  }
  return true
}
