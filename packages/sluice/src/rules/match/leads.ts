// The index of a rule set is a tree. A node knows one thing about a request and leads to the rules that may match because
// of it, and to those that do not care. It may name rules that do not match, never miss one that does: at the end, each
// rule is asked itself.

import type { ComparedRequest } from "./compared-request.js"
import type { Found } from "./found.js"
import type { Matched } from "./match-spec.js"
import { hashFromStart } from "./text-hash.js"
import { TextLeads } from "./text-leads.js"

export interface IndexNode {
  /** Adds every rule below that matches, in any order; one with several patterns may come more than once. */
  collect(request: ComparedRequest, found: Found): void
}

/**
 * Where the index leads to, as numbers: twice the place of a match that is settled on the way, or twice the place of a
 * node, and one. Of ten thousand rules that one text tells apart, none has an object that a lookup would have to wait for.
 */
export class Leads {
  readonly #settled: Matched[] = []
  readonly #nodes: IndexNode[] = []
  readonly byText = new TextLeads(hashFromStart)

  toSettled(matched: Matched): number {
    return 2 * (this.#settled.push(matched) - 1)
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
    else found.add(this.#settled[lead >> 1] as Matched)
  }
}
