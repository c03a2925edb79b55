// The index of a rule set is a tree. A node knows one thing about a request and leads to the rules that may match because
// of it, and to those that do not care. It may name rules that do not match, never miss one that does: at the end, each
// rule is asked itself.

import type { ComparedRequest } from "./compared-request.js"
import type { Found } from "./found.js"
import type { Matched } from "./match-spec.js"
import { TextLeads } from "./text-leads.js"

export interface IndexNode {
  /** Adds every rule below that matches, in any order; one with several patterns may come more than once. */
  collect(request: ComparedRequest, found: Found): void
}

/** So many matches are ready made, whatever is in them: they stay in the cache, and making one anew takes longer. */
const FEW = 64

/**
 * Where the index leads to, as numbers: twice the place of a node, and one; four times the place of a match that is settled
 * on the way; or four times the index of a rule that is, and two, if a match needs to know no more of it. Of ten thousand
 * rules that one text tells apart, none has anything in memory that a lookup would have to wait for.
 */
export class Leads {
  readonly #settled: Matched[] = []
  readonly #nodes: IndexNode[] = []
  readonly byText = new TextLeads()

  toSettled(matched: Matched): number {
    if (matched.pattern === undefined && this.#settled.length >= FEW) return 4 * matched.index + 2
    return 4 * (this.#settled.push(matched) - 1)
  }

  toNode(node: IndexNode): number {
    return 2 * this.#nodes.push(node) - 1
  }

  /** When there is a lead to everything. */
  seal(): void {
    this.byText.seal()
  }

  follow(lead: number, request: ComparedRequest, found: Found): void {
    if (lead < 0) return
    if (lead & 1) (this.#nodes[lead >> 1] as IndexNode).collect(request, found)
    else if (lead & 2) found.add(plainMatch(lead >> 2))
    else found.add(this.#settled[lead >> 2] as Matched)
  }
}

/** Of a rule without a path. */
function plainMatch(index: number): Matched {
  return { index, params: undefined, pattern: undefined }
}
