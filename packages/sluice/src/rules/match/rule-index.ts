import type { Steps } from "../language/steps.js"
import type { ComparedRequest } from "./compared-request.js"
import type { Matched } from "./match-spec.js"
import {
  HeaderIndex,
  HostIndex,
  type IndexNode,
  MethodIndex,
  PathIndex,
  QueryIndex,
  TierIndex,
} from "./part-index.js"
import type { RuleMatch } from "./rule-match.js"

/** The parts of a match in the order in which they divide the rules. */
const PARTS = [PathIndex, HostIndex, MethodIndex, TierIndex, HeaderIndex, QueryIndex]

/** A group of at most this many rules is not divided: a request is tested against each of them. */
const MAX_UNDIVIDED = 4

/**
 * A rule with ten paths is in ten groups of the path index, and with ten hosts in a hundred groups of the host indexes below.
 * This bounds the number of groups for rules that consist of long lists. Rules beyond it are not divided any further.
 */
const MAX_ENTRIES_PER_RULE = 64

/** Indexes all rules: by path, the rules of one path by host, those of one host by method, and so on. */
export function* indexRules(rules: readonly RuleMatch[]): Steps<IndexNode> {
  return yield* nodeOf(rules, PARTS, { entriesLeft: rules.length * MAX_ENTRIES_PER_RULE })
}

/** Divides rules by the first part that separates some of them, and each group of them by the parts after it. */
function* nodeOf(
  rules: readonly RuleMatch[],
  parts: typeof PARTS,
  budget: { entriesLeft: number },
): Steps<IndexNode> {
  yield
  for (const [i, Part] of parts.entries()) {
    if (rules.length <= MAX_UNDIVIDED) break
    const index = new Part()
    const rest: RuleMatch[] = []
    let entries = 0
    for (const rule of rules) {
      const added = index.add(rule)
      if (added === 0) rest.push(rule)
      entries += added
      if (entries > budget.entriesLeft) break
      yield
    }
    const isDivided = index.groups.size > 1 || (index.groups.size === 1 && rest.length > 0)
    if (!isDivided || entries > budget.entriesLeft) continue
    budget.entriesLeft -= entries
    const partsLeft = parts.slice(i + 1)
    for (const group of index.groups.values()) group.addNode(yield* nodeOf(group.rules, partsLeft, budget))
    index.groups.clear()
    if (rest.length > 0) index.rest = yield* nodeOf(rest, partsLeft, budget)
    return index
  }
  return rules.length === 1 ? (rules[0] as RuleMatch) : new RuleList(rules)
}

/** Rules that are tested one by one. */
class RuleList implements IndexNode {
  readonly #rules: readonly RuleMatch[]

  constructor(rules: readonly RuleMatch[]) {
    this.#rules = rules
  }

  collect(request: ComparedRequest, found: Matched[]): void {
    for (const rule of this.#rules) rule.collect(request, found)
  }
}
