// Converts a configuration of envoyproxy/ratelimit into rules. Each descriptor with a limit becomes one rule that matches the
// requests for which envoyproxy/ratelimit would choose this descriptor.
//
// One case differs: envoyproxy/ratelimit compares a value that equals a wildcard literally, with its `*`, as an exact value.

import { createHash } from "node:crypto"
import { SluiceError } from "../../errors.js"
import { getOrAdd } from "../../get-or-add.js"
import { checkFields, checkType } from "../../options.js"
import { boundsOf, type GuardRails } from "../language/guard-rails.js"
import { checkRuleSet } from "../language/parse.js"
import { RuleSetError } from "../language/rule-set-error.js"
import type { RuleSetDocument, RuleSpec } from "../language/schema.js"
import { parseValuePattern } from "../language/value-pattern.js"
import { readYaml } from "../language/yaml-text.js"
import { compositeKey, type EnvoyDescriptor, type EnvoyLimit, readEnvoyFile, UNITS } from "./envoy-file.js"
import { Findings, type ImportNote, inside, type Place, type Source } from "./findings.js"
import { confusedKey, isWildcard, type Reached, reachedOf } from "./siblings.js"

export interface EnvoyImportOptions {
  /** The name of the configuration in errors; for several texts, a list of names. Default: `"envoy"`. */
  name?: string | readonly string[]
  /** Merges texts of the same domain, as MERGE_DOMAIN_CONFIG does. Default: they are a problem. */
  mergeDomains?: boolean
  /** Bounds on the resulting rules. */
  guardRails?: GuardRails
}

export interface EnvoyImport {
  readonly document: RuleSetDocument
  /** Parts of the configuration that have no effect, or another effect in Sluice. */
  readonly notes: readonly ImportNote[]
}

type Match = NonNullable<RuleSpec["match"]>
type Entry = Extract<Reached, { entry: unknown }>["entry"]

/** A rule, with the descriptor that it was made of. */
interface Imported {
  readonly rule: RuleSpec
  readonly domain: string
  readonly limit: EnvoyLimit
  readonly place: Place
}

interface Domain {
  readonly domain: string
  readonly descriptors: EnvoyDescriptor[]
}

/** The path from a domain to a descriptor. */
interface Way {
  readonly domain: string
  readonly parts: readonly string[]
  readonly entries: readonly Entry[]
  /** For each entry, whether all of its values share one counter. */
  readonly shared: readonly boolean[]
}

/** Converts YAML of envoyproxy/ratelimit into a rule set. Throws one error with every problem, each with line and column. */
export function importEnvoyConfig(
  texts: string | readonly string[],
  options: EnvoyImportOptions = {},
): EnvoyImport {
  checkFields(options, ["name", "mergeDomains", "guardRails"], "importEnvoyConfig")
  const list = typeof texts === "string" ? [texts] : texts
  checkType(list ?? null, "importEnvoyConfig", "the text of a file, or a list of texts", isTextList)
  const { name = "envoy", mergeDomains = false, guardRails } = options
  const { maxBytes } = boundsOf(guardRails)
  const sources = list.map((text, i): Source => {
    const own =
      typeof name === "string" ? (list.length === 1 ? name : `${name}[${i}]`) : (name[i] ?? `[${i}]`)
    return { name: own, yaml: readYaml(text, { name: own, maxBytes, asGo: true }) }
  })
  const findings = new Findings(sources)
  const whole = typeof name === "string" ? name : name.join(", ")
  const importing = new Importing(findings)
  for (const { domain, descriptors } of domainsOf(sources, findings, mergeDomains))
    importing.level(descriptors, { domain, parts: [domain], entries: [], shared: [] })
  const rules = importing.finish()
  const document: RuleSetDocument = { version: 1, rules: rules.map(({ rule }) => rule) }
  findings.refuse(whole)
  checkResult(document, rules, findings, guardRails)
  findings.refuse(whole)
  return { document, notes: findings.notes() }
}

/** The descriptors of each domain. A duplicate of a domain is checked by itself. */
function domainsOf(sources: readonly Source[], findings: Findings, mergeDomains: boolean): Domain[] {
  const domains: (Domain & { readonly place: Place })[] = []
  sources.forEach(({ yaml }, text) => {
    const { domain, descriptors, place } = readEnvoyFile(yaml.value, text, findings)
    const other = domain === "" ? undefined : domains.find((known) => known.domain === domain)
    if (other !== undefined && mergeDomains) {
      for (const descriptor of descriptors) other.descriptors.push(descriptor)
      return
    }
    if (other !== undefined) {
      const message = `is already the domain of ${findings.pathOf(other.place)}; use mergeDomains to merge them`
      findings.problem(inside(place, "domain"), "RULE_DUPLICATE", message)
    }
    domains.push({ domain, descriptors: [...descriptors], place })
  })
  return domains
}

class Importing {
  readonly #findings: Findings
  readonly #ids = new RuleIds()
  readonly #rules: Imported[] = []

  constructor(findings: Findings) {
    this.#findings = findings
  }

  /** Adds the descriptors of one level, and those below them. */
  level(siblings: readonly EnvoyDescriptor[], way: Way): void {
    this.#check(siblings)
    const keys = new Set(siblings.map(({ key }) => key))
    const reached = reachedOf(siblings)
    for (const descriptor of siblings) {
      const found = reached.get(descriptor) as Reached
      if ("hiddenBy" in found) {
        const other = this.#findings.pathOf(found.hiddenBy.place)
        this.#findings.note(
          descriptor.place,
          `is never used: ${other} comes before it and matches all of its values`,
        )
        continue
      }
      const confused = confusedKey(descriptor, keys)
      if (confused !== undefined) {
        const message = `may also match key "${confused}" in envoyproxy/ratelimit, which joins key and value by "_"; Sluice compares whole keys`
        this.#findings.note(descriptor.place, message)
      }
      const further = {
        domain: way.domain,
        parts: [...way.parts, compositeKey(descriptor)],
        entries: [...way.entries, found.entry],
        shared: [...way.shared, descriptor.isShared && isWildcard(descriptor)],
      }
      if (descriptor.limit !== undefined) this.#rule(descriptor, descriptor.limit, further)
      this.level(descriptor.descriptors, further)
    }
  }

  /** All rules. Call it when all descriptors have been added, because rules refer to each other by name. */
  finish(): readonly Imported[] {
    const named = new Map<string, string[]>()
    const nameOf = (domain: string, name: string) => JSON.stringify([domain, name])
    for (const { rule, domain, limit } of this.#rules) {
      if (limit.name === "") continue
      getOrAdd(named, nameOf(domain, limit.name), () => []).push(rule.id)
    }
    return this.#rules.flatMap((imported) => {
      const { rule, domain, limit } = imported
      const ids = limit.replaces.flatMap(({ name, place }) => {
        const others = named.get(nameOf(domain, name))
        if (others === undefined)
          this.#findings.note(place, `names a limit that domain "${domain}" does not have`)
        return others ?? []
      })
      if (ids.length === 0) return [imported]
      const replaces = [...new Set(ids)]
      if (rule.mode !== "shadow") return [{ ...imported, rule: { ...rule, replaces } }]
      return [imported, { ...imported, rule: this.#standIn(rule, replaces) }]
    })
  }

  #rule({ place, isShadow }: EnvoyDescriptor, limit: EnvoyLimit, way: Way): void {
    const id = this.#ids.next(way.parts)
    const path = way.parts.join(".")
    const { name, unit, requestsPerUnit } = limit
    // An unlimited rule has no limit that could carry the name, and a long name does not fit.
    const isCarried = unit !== undefined && name.length <= 64
    const said = [isCarried ? "" : name, id === path ? "" : path].filter((text) => text !== "").join(": ")
    const deniesAll = unit !== undefined && requestsPerUnit === 0
    const description = deniesAll ? `Denies everything: requests_per_unit is 0. ${said}`.trim() : said
    const rule: RuleSpec = {
      id,
      ...(description === "" ? {} : { description: description.slice(0, 1_000) }),
      ...(isShadow && unit !== undefined ? { mode: "shadow" } : {}),
      match: matchOf(way),
      ...(unit === undefined ? {} : { keyBy: keyOf(way.shared) }),
      limits:
        unit === undefined
          ? "unlimited"
          : [
              {
                ...(name !== "" && isCarried ? { name } : {}),
                limit: Math.max(1, requestsPerUnit),
                window: UNITS[unit],
                algorithm: "fixed-window",
              },
            ],
      // A limit cannot be 0. A key of an entry that the descriptor does not have makes the rule deny.
      ...(deniesAll ? { keyBy: `descriptor:${way.entries.length}`, onMissingKey: "deny" } : {}),
    }
    this.#rules.push({ rule, domain: way.domain, limit, place })
  }

  /** In envoyproxy/ratelimit a rule in shadow mode replaces others; in Sluice it does not. A rule without limits does so instead. */
  #standIn({ id, match }: RuleSpec, replaces: string[]): RuleSpec {
    return {
      id: this.#ids.next([id], ".replaces"),
      description: `Takes the place of others for ${id}, which is in shadow.`,
      match: structuredClone(match),
      limits: "unlimited",
      replaces,
    }
  }

  #check(siblings: readonly EnvoyDescriptor[]): void {
    const first = new Map<string, EnvoyDescriptor>()
    for (const descriptor of siblings) {
      const { key, value, place } = descriptor
      if (key === "") continue
      const joined = compositeKey(descriptor)
      const other = first.get(joined)
      if (other === undefined) first.set(joined, descriptor)
      else {
        const message = `has key and value "${joined}", and so has ${this.#findings.pathOf(other.place)}`
        this.#findings.problem(place, "RULE_DUPLICATE", message)
      }
      try {
        parseValuePattern(value, "")
      } catch (error) {
        if (!(error instanceof SluiceError)) throw error
        this.#findings.problem(inside(place, "value"), error.code, error.expected)
      }
    }
  }
}

/** A copy for each rule: shared objects would be written as YAML aliases, and a file may use few of them. */
function matchOf({ domain, entries }: Way): Match {
  return {
    domain,
    descriptor: entries.map(({ not, ...entry }) => (not === undefined ? entry : { ...entry, not: [...not] })),
  }
}

/** The parts of the key, without entries whose values share one counter. */
function keyOf(shared: readonly boolean[]): NonNullable<RuleSpec["keyBy"]> {
  if (!shared.includes(true)) return "descriptor"
  const own = shared.flatMap((isShared, i) => (isShared ? [] : [`descriptor:${i}`]))
  if (own.length === 0) return "global"
  return own.length === 1 ? (own[0] as string) : own
}

/** Checks the resulting rules against the bounds, and reports problems at the place of the descriptor. */
function checkResult(
  document: RuleSetDocument,
  rules: readonly Imported[],
  findings: Findings,
  guardRails: GuardRails | undefined,
): void {
  try {
    checkRuleSet(document, { guardRails })
  } catch (error) {
    if (!(error instanceof RuleSetError)) throw error
    for (const { path, code, message } of error.problems) {
      const [, index, field = ""] = /^rules\[(\d+)\]\.?(.*)$/.exec(path) ?? []
      const place = index === undefined ? undefined : rules[Number(index)]?.place
      const text = `as a rule: ${place === undefined ? path : field} ${message}`
      findings.problem(place ?? { text: 0, at: [] }, code, text)
    }
  }
}

const MAX_ID_LENGTH = 64
const ID_HASH_LENGTH = 8

/**
 * Ids of imported rules: the path to the descriptor, as envoyproxy/ratelimit names its statistics, `edge.tenant_acme.path`. Ids
 * are part of storage keys, so that the id of a descriptor does not depend on other descriptors.
 */
class RuleIds {
  readonly #taken = new Set<string>()

  /** A new id made of `parts`. `suffix` distinguishes the rules of one descriptor. */
  next(parts: readonly string[], suffix = ""): string {
    const text = parts.join(".") + suffix
    const readable = text.replace(/[^A-Za-z0-9._-]+/g, "-").replace(/^[._-]+/, "")
    // A hash replaces what was cut or replaced: two ids may differ only there.
    let id = readable === text && text.length <= MAX_ID_LENGTH ? text : hashedId(readable, parts, suffix)
    for (let n = 0; this.#taken.has(id); n++) id = hashedId(readable, parts, `${suffix}~${n}`)
    this.#taken.add(id)
    return id
  }
}

function hashedId(readable: string, parts: readonly string[], suffix: string): string {
  const digest = createHash("sha256")
    .update(JSON.stringify([...parts, suffix]))
    .digest("hex")
    .slice(0, ID_HASH_LENGTH)
  const start = readable.slice(0, MAX_ID_LENGTH - ID_HASH_LENGTH - 1).replace(/[._-]+$/, "")
  return start === "" ? `envoy-${digest}` : `${start}-${digest}`
}

function isTextList(list: unknown): boolean {
  return Array.isArray(list) && list.every((text) => typeof text === "string")
}
