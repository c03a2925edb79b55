// SLUICE.CHECK rule key [cost] checks one rule of the rule set for a key. The reply is that of CL.THROTTLE; a limit and
// remaining of -1 mean that nothing limits the key.

import { isUtf8 } from "node:buffer"
import type { RuleDecision } from "sluice/rules"
import { askKey } from "../core.js"
import type { Command } from "./command.js"
import type { ReplyWriter } from "./reply-writer.js"
import type { Answer } from "./throttle.js"

export const ruleCheck: Command = {
  name: "sluice.check",
  arity: -3,
  summary: "Checks a rule of the rule set by its id: rule key [cost]",
  keyAt: 2,
  run({ host, request, reply }) {
    const { count } = request
    if (count > 4) {
      reply.error("ERR usage: sluice.check <rule> <key> [<cost>]")
      return undefined
    }
    if (!isUtf8(request.raw(2))) {
      reply.error("ERR the key must be UTF-8")
      return undefined
    }
    const cost = count === 4 ? request.integer(3) : undefined
    const options = cost === undefined ? {} : { cost }
    const decision = askKey(host.core, "resp", request.text(1), request.text(2), options)
    if (decision instanceof Promise) return decision.then(answerOf)
    writeDecision(reply, decision)
    return undefined
  },
}

function answerOf(decision: RuleDecision): Answer {
  return (reply) => writeDecision(reply, decision)
}

function writeDecision(reply: ReplyWriter, decision: RuleDecision): void {
  const { allowed, limit, remaining, retryAfterMs, resetAfterMs } = decision
  const retry = allowed ? -1 : orMinusOne(Math.ceil(retryAfterMs / 1000))
  reply.decision(allowed, orMinusOne(limit), orMinusOne(remaining), retry, Math.ceil(resetAfterMs / 1000))
}

/** RESP has no integer for infinity. */
function orMinusOne(value: number): number {
  return value === Number.POSITIVE_INFINITY ? -1 : value
}
