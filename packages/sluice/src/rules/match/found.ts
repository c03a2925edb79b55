import type { Matched } from "./match-spec.js"

/** The rules that a request meets, as the index finds them: in any order, and one with several patterns perhaps twice. */
export class Found {
  #matched: Matched[] | undefined = undefined

  add(matched: Matched): void {
    // Most requests meet one rule. An empty list would make room for sixteen when the first is added.
    if (this.#matched === undefined) this.#matched = [matched]
    else this.#matched.push(matched)
  }

  /** All of them in the order of the rules, each once. */
  inRuleOrder(): readonly Matched[] {
    const matched = this.#matched
    if (matched === undefined) return NOTHING
    return matched.length === 1 ? matched : sorted(matched)
  }
}

const NOTHING: readonly Matched[] = Object.freeze([])

function sorted(found: Matched[]): Matched[] {
  if (found.length > 32) found.sort((a, b) => a.index - b.index)
  let kept = 0
  for (const matched of found) {
    // The usual few are put in their place one by one, without a call per comparison.
    let place = kept
    while (place > 0 && (found[place - 1] as Matched).index > matched.index) place--
    if (place > 0 && (found[place - 1] as Matched).index === matched.index) continue
    for (let i = kept; i > place; i--) found[i] = found[i - 1] as Matched
    found[place] = matched
    kept++
  }
  if (kept < found.length) found.length = kept
  return found
}
