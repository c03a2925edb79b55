// Builds the index of a rule set. Whatever tells the rules apart best is asked first: their paths, their hosts, the values
// of a header. What that leaves together is told apart by the next part, and so on, until only a few rules are left.

import type { ComparedRequest } from "./compared-request.js"
import { type Build, type Cabinet, cabinet, type Filing, type Folder } from "./filing.js"
import { GlobTable } from "./glob-table.js"
import {
  ByHeader,
  ByHost,
  ByPath,
  ByQuery,
  ByWord,
  type IndexNode,
  leafOf,
  type ValueNodes,
} from "./index-node.js"
import { PathTrie } from "./path-trie.js"
import { PART, type RuleMatch, type ValueTest } from "./rule-match.js"
import type { ValuePattern } from "./value-pattern.js"

/** So few rules are asked faster than told apart. */
const FEW = 4

/**
 * A rule with a list of ten hosts is filed ten times, and with ten paths a hundred times. This bounds the index of rules
 * that have nothing but long lists: from there on, rules stay together and are asked one after the other.
 */
const MOST_FILINGS_PER_RULE = 64

const cabinets: readonly Cabinet[] = [
  cabinet(
    PART.path,
    ({ paths }) => (paths === undefined ? [] : [paths.map(({ pattern }) => ({ id: pattern.form, pattern }))]),
    (folders, rest, build) =>
      new ByPath(new PathTrie(folders.map(({ key, rules }) => [key.pattern, build(rules)])), rest),
  ),
  cabinet(
    PART.host,
    ({ hosts }) => (hosts === undefined ? [] : [hosts.map(({ host }) => ({ id: host }))]),
    (folders, rest, build) => new ByHost(nodesById(folders, build), rest),
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
    (values, rest) => new ByHeader(values, rest),
  ),
  cabinetByValue(
    PART.query,
    ({ queries }) => queries,
    (values, rest) => new ByQuery(values, rest),
  ),
]

export function indexRules(rules: readonly RuleMatch[]): IndexNode {
  let filingsLeft = rules.length * MOST_FILINGS_PER_RULE

  function build(rules: readonly RuleMatch[], left: readonly Cabinet[], known: number): IndexNode {
    if (rules.length <= FEW) return leafOf(rules, known)
    let best: { readonly cabinet: Cabinet; readonly filing: Filing } | undefined
    for (const cabinet of left) {
      const filing = cabinet.file(rules)
      // It must at least spare asking a few rules.
      const toBeat = best?.filing.expectedRules ?? rules.length - FEW
      if (filing.expectedRules < toBeat && filing.count <= filingsLeft) best = { cabinet, filing }
    }
    if (best === undefined) return leafOf(rules, known)
    const { cabinet, filing } = best
    filingsLeft -= filing.count
    const others = left.filter((other) => other !== cabinet)
    return filing.nodeOf(
      (filed) => build(filed, others, known | cabinet.part),
      (rest) => build(rest, others, known),
    )
  }

  return build(rules, cabinets, 0)
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
    (folders, rest, build) => new ByWord(wordOf, nodesById(folders, build), rest),
  )
}

/** By the value of one of the headers or query parameters that a rule asks for. */
function cabinetByValue(
  part: number,
  testsOf: (rule: RuleMatch) => readonly ValueTest[],
  nodeOf: (values: readonly ValueNodes[], rest: IndexNode | undefined) => IndexNode,
): Cabinet {
  return cabinet(
    part,
    (rule) =>
      testsOf(rule).flatMap(({ name, patterns }) => (patterns === true ? [] : [valueKeys(name, patterns)])),
    (folders, rest, build) => {
      const byName = new Map<string, ValueNodes>()
      for (const { key, rules } of folders) {
        const { name, pattern } = key
        const values = byName.get(name) ?? { name, exact: new Map(), globs: new GlobTable() }
        byName.set(name, values)
        if (typeof pattern === "string") values.exact.set(pattern, build(rules))
        else values.globs.at(pattern, () => build(rules))
      }
      return nodeOf([...byName.values()], rest)
    },
  )
}

/** A name has no control characters, and a value that is no glob has no star. */
function valueKeys(name: string, patterns: readonly ValuePattern[]) {
  return patterns.map((pattern) => ({
    id: `${name}\0${typeof pattern === "string" ? pattern : pattern.text}`,
    name,
    pattern,
  }))
}

function nodesById(
  folders: readonly Folder<{ readonly id: string }>[],
  build: Build,
): Map<string, IndexNode> {
  return new Map(folders.map(({ key, rules }) => [key.id, build(rules)]))
}
