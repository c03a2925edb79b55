// Builds the index of a rule set. Whatever tells the rules apart best is asked first: their paths, their hosts, the values
// of a header. What that leaves together is told apart by the next part, and so on, until only a few rules are left.

import type { Steps } from "../language/steps.js"
import type { ComparedRequest } from "./compared-request.js"
import { type Cabinet, cabinet, type Filed, type Filing } from "./filing.js"
import { type GlobEntry, GlobTable } from "./glob-table.js"
import { ByHeader, ByHost, ByPath, ByQuery, ByWord, type ValueLeads } from "./index-node.js"
import { type IndexNode, Leads } from "./leads.js"
import { leadToFew } from "./leaf.js"
import { PathTrie } from "./path-trie.js"
import { PART, type RuleMatch, type ValueTest } from "./rule-match.js"
import type { ValuePattern } from "./value-pattern.js"

/** Rules are told apart where a request then has to ask so many fewer: a rule is an object, and its parts are more. */
const LEAST_SPARED = 1

/**
 * A rule with a list of ten hosts is filed ten times, and with ten paths a hundred times. This bounds the index of rules
 * that have nothing but long lists: from there on, rules stay together and are asked one after the other.
 */
const MOST_FILINGS_PER_RULE = 64

const cabinets: readonly Cabinet[] = [
  cabinet(
    PART.path,
    ({ paths }) => (paths === undefined ? [] : [paths.map(({ pattern }) => ({ id: pattern.form, pattern }))]),
    function* (leads, filed, rest) {
      const trie = yield* PathTrie.build(filed.map(({ key, lead }) => [key.pattern, lead]))
      return new ByPath(leads, trie, rest)
    },
  ),
  cabinet(
    PART.host,
    ({ hosts }) => (hosts === undefined ? [] : [hosts.map(({ host }) => ({ id: host }))]),
    function* (leads, filed, rest) {
      yield
      return new ByHost(leads, leadsById(filed), rest)
    },
  ),
  cabinetByWord(
    PART.method,
    ({ methods }) => methods,
    ({ method }) => method,
  ),
  cabinetByWord(
    PART.tier,
    ({ tiers }) => tiers,
    ({ facts }) => facts.tier,
  ),
  cabinetByValue(
    PART.header,
    ({ headers }) => headers,
    (leads, values, rest) => new ByHeader(leads, values, rest),
  ),
  cabinetByValue(
    PART.query,
    ({ queries }) => queries,
    (leads, values, rest) => new ByQuery(leads, values, rest),
  ),
]

export function* indexRules(rules: readonly RuleMatch[]): Steps<IndexNode> {
  const leads = new Leads()
  let filingsLeft = rules.length * MOST_FILINGS_PER_RULE

  function* build(rules: readonly RuleMatch[], left: readonly Cabinet[], known: number): Steps<number> {
    yield
    if (rules.length === 1) return leadToFew(leads, rules, known)
    let best: { readonly cabinet: Cabinet; readonly filing: Filing } | undefined
    for (const cabinet of left) {
      const filing = yield* cabinet.file(rules, filingsLeft)
      if (filing === undefined) continue
      const { expectedRules } = filing
      if (rules.length - expectedRules < LEAST_SPARED) continue
      if (best === undefined || expectedRules < best.filing.expectedRules) best = { cabinet, filing }
    }
    if (best === undefined) return leadToFew(leads, rules, known)
    const { cabinet, filing } = best
    filingsLeft -= filing.count
    const others = left.filter((other) => other !== cabinet)
    return yield* filing.index(
      leads,
      (filed) => build(filed, others, known | cabinet.part),
      (rest) => build(rest, others, known),
    )
  }

  const lead = yield* build(rules, cabinets, 0)
  yield
  leads.seal()
  return { collect: (request, found) => leads.follow(lead, request, found) }
}

/** By a word that a request has one of. */
function cabinetByWord(
  part: number,
  wordsOf: (rule: RuleMatch) => readonly string[] | undefined,
  wordOf: (request: ComparedRequest) => string | undefined,
): Cabinet {
  return cabinet(
    part,
    (rule) => {
      const words = wordsOf(rule)
      return words === undefined ? [] : [words.map((id) => ({ id }))]
    },
    function* (leads, filed, rest) {
      yield
      return new ByWord(leads, wordOf, leadsById(filed), rest)
    },
  )
}

/** By the value of one of the headers or query parameters that a rule asks for. */
function cabinetByValue(
  part: number,
  testsOf: (rule: RuleMatch) => readonly ValueTest[],
  nodeOf: (leads: Leads, values: readonly ValueLeads[], rest: number) => IndexNode,
): Cabinet {
  return cabinet(
    part,
    (rule) =>
      testsOf(rule).flatMap(({ name, patterns }) => (patterns === true ? [] : [valueKeys(name, patterns)])),
    function* (leads, filed, rest) {
      yield
      return nodeOf(leads, valueLeads(leads, filed), rest)
    },
  )
}

interface ValueKey {
  readonly id: string
  readonly name: string
  readonly pattern: ValuePattern
}

function valueLeads(leads: Leads, filed: readonly Filed<ValueKey>[]): ValueLeads[] {
  type Values = { readonly exact: Map<string, number>; readonly globs: GlobEntry[] }
  const byName = new Map<string, Values>()
  for (const { key, lead } of filed) {
    const { name, pattern } = key
    const values: Values = byName.get(name) ?? { exact: new Map(), globs: [] }
    byName.set(name, values)
    if (typeof pattern === "string") values.exact.set(pattern, lead)
    else values.globs.push({ glob: pattern, value: lead })
  }
  return [...byName].map(([name, { exact, globs }]) => ({
    name,
    node: leads.byText.add(exact),
    globs: globs.length === 0 ? undefined : new GlobTable(globs),
  }))
}

/** A name has no control characters, and a value that is no glob has no star. */
function valueKeys(name: string, patterns: readonly ValuePattern[]): ValueKey[] {
  return patterns.map((pattern) => ({
    id: `${name}\0${typeof pattern === "string" ? pattern : pattern.text}`,
    name,
    pattern,
  }))
}

function leadsById(filed: readonly Filed<{ readonly id: string }>[]): Map<string, number> {
  return new Map(filed.map(({ key, lead }) => [key.id, lead]))
}
