import type { Steps } from "../language/steps.js"
import type { IndexNode, Leads } from "./leads.js"
import type { RuleMatch } from "./rule-match.js"
import { NONE } from "./text-table.js"

/** What rules are filed under: two keys with the same id are the same. */
export interface FilingKey {
  readonly id: string
}

/** The rules filed under one key. */
interface Folder<K extends FilingKey> {
  readonly key: K
  readonly rules: RuleMatch[]
}

/** Where the index leads to from one key. */
export interface Filed<K extends FilingKey> {
  readonly key: K
  readonly lead: number
}

/** Builds the index of some rules, and tells where it is. */
type Build = (rules: readonly RuleMatch[]) => Steps<number>

/** Rules filed by one part of their match. */
export interface Filing {
  /** How many rules are left for a request that meets a key, when each key is met as often as there are rules under it. */
  readonly expectedRules: number
  /** How often a rule was filed, all in all. */
  readonly count: number
  /** Builds the index of all of them, and tells where it is. */
  index(leads: Leads, build: Build, buildRest: Build): Steps<number>
}

/** Files rules by one part of their match, such as the path. */
export interface Cabinet {
  /** A request that meets a key is known to meet this part. */
  readonly part: number
  /** Undefined when rules would have to be filed more often than `most` all in all. */
  file(rules: readonly RuleMatch[], most: number): Steps<Filing | undefined>
}

/**
 * `waysOf` gives the ways to file a rule, each a list of keys that it then has to be under. A rule without any is left to
 * `rest`; one with several goes the way that it shares with the fewest.
 */
export function cabinet<K extends FilingKey>(
  part: number,
  waysOf: (rule: RuleMatch) => readonly (readonly K[])[],
  nodeOf: (leads: Leads, folders: readonly Filed<K>[], rest: number) => Steps<IndexNode>,
): Cabinet {
  function* file(rules: readonly RuleMatch[], most: number): Steps<Filing | undefined> {
    const ways: (readonly (readonly K[])[])[] = []
    const company = new Map<string, number>()
    for (const rule of rules) {
      const own = waysOf(rule)
      ways.push(own)
      for (const keys of own) for (const { id } of keys) company.set(id, (company.get(id) ?? 0) + 1)
      yield
    }
    const folders = new Map<string, Folder<K>>()
    const rest: RuleMatch[] = []
    let room = most
    for (const [i, rule] of rules.entries()) {
      const keys = leastShared(ways[i] as readonly (readonly K[])[], company)
      if (keys === undefined) rest.push(rule)
      else {
        room -= keys.length
        if (room < 0) return undefined
        for (const key of keys) put(folders, key, rule)
      }
      yield
    }
    const sizes = [...folders.values()].map(({ rules }) => rules.length)
    const count = sizes.reduce((sum, size) => sum + size, 0)
    const squares = sizes.reduce((sum, size) => sum + size * size, 0)
    return {
      expectedRules: rest.length + (count === 0 ? 0 : squares / count),
      count,
      *index(leads, build, buildRest) {
        const filed: Filed<K>[] = []
        for (const { key, rules } of folders.values()) filed.push({ key, lead: yield* build(rules) })
        const restLead = rest.length === 0 ? NONE : yield* buildRest(rest)
        return leads.toNode(yield* nodeOf(leads, filed, restLead))
      },
    }
  }
  return { part, file }
}

function put<K extends FilingKey>(folders: Map<string, Folder<K>>, key: K, rule: RuleMatch): void {
  const folder = folders.get(key.id)
  if (folder === undefined) folders.set(key.id, { key, rules: [rule] })
  // Two patterns of one rule may come to the same key.
  else if (folder.rules.at(-1) !== rule) folder.rules.push(rule)
}

function leastShared<K extends FilingKey>(
  ways: readonly (readonly K[])[],
  company: ReadonlyMap<string, number>,
): readonly K[] | undefined {
  const sharedBy = (keys: readonly K[]) => keys.reduce((sum, { id }) => sum + (company.get(id) as number), 0)
  if (ways.length < 2) return ways[0]
  let best: { readonly keys: readonly K[]; readonly shared: number } | undefined
  for (const keys of ways) {
    const shared = sharedBy(keys)
    if (best === undefined || shared < best.shared) best = { keys, shared }
  }
  return best?.keys
}
