// What stands around the numbers of a decision is the same for all decisions on one limit, and is put together once. Nearly
// every decision is about one limit of one rule: then only a few numbers and the key are left to be written.

import type { RuleDecision } from "sluice/rules"
import { quoted } from "./json-text.js"

/** The pieces between the numbers. */
interface Pieces<Piece> {
  /** Up to what remains. */
  readonly head: Piece
  /** From the reason to the quote before the key. */
  readonly about: Piece
  /** The same, from a delay of none. */
  readonly aboutAtOnce: Piece
  /** From the quote behind the key. */
  readonly end: Piece
}

/** The pieces as text and as bytes, and what they were made of. */
export interface DecisionFrame extends Pieces<string> {
  readonly bytes: Pieces<Uint8Array>
  readonly of: Pick<
    RuleDecision,
    "reason" | "limit" | "rule" | "limitName" | "deniedBy" | "tier" | "revision"
  >
}

/** By the limits as headers describe them: the engine has one list for each set of limits, and lets go of it with its rules. */
type Frames = WeakMap<RuleDecision["policies"], DecisionFrame>

const whenAllowed: Frames = new WeakMap()
const whenDenied: Frames = new WeakMap()
let last: DecisionFrame | undefined

/** The frame of a decision on one limit of one rule that is enforced, made with the store's help. */
export function frameOf(decision: RuleDecision): DecisionFrame {
  if (last !== undefined && fits(last, decision)) return last
  const frames = decision.allowed ? whenAllowed : whenDenied
  const known = frames.get(decision.policies)
  if (known !== undefined && fits(known, decision)) {
    last = known
    return known
  }
  last = makeFrame(decision)
  frames.set(decision.policies, last)
  return last
}

function fits({ of }: DecisionFrame, decision: RuleDecision): boolean {
  return (
    of.reason === decision.reason &&
    of.limit === decision.limit &&
    of.rule === decision.rule &&
    of.limitName === decision.limitName &&
    of.deniedBy === decision.deniedBy &&
    of.tier === decision.tier &&
    of.revision === decision.revision
  )
}

function makeFrame(decision: RuleDecision): DecisionFrame {
  const { allowed, reason, limit, rule, limitName, deniedBy, tier, revision } = decision
  let about = `,"reason":"${reason}"`
  if (rule !== undefined) about += `,"rule":${quoted(rule)}`
  if (limitName !== undefined) about += `,"limitName":${quoted(limitName)}`
  about += ',"key":"'
  let end = deniedBy === undefined ? '"' : `","deniedBy":${quoted(deniedBy)}`
  if (tier !== undefined) end += `,"tier":${quoted(tier)}`
  const pieces = {
    head: flat(`{"allowed":${allowed},"limit":${limit},"remaining":`),
    about: flat(about),
    aboutAtOnce: flat(`,"delayMs":0${about}`),
    end: flat(`${end},"revision":${revision}}`),
  }
  return {
    ...pieces,
    bytes: {
      head: Buffer.from(pieces.head),
      about: Buffer.from(pieces.about),
      aboutAtOnce: Buffer.from(pieces.aboutAtOnce),
      end: Buffer.from(pieces.end),
    },
    of: { reason, limit, rule, limitName, deniedBy, tier, revision },
  }
}

/** In one piece: text that is put together is kept in parts until somebody looks into it, here with every answer. */
function flat(text: string): string {
  return JSON.parse(JSON.stringify(text)) as string
}
