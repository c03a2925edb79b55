// Finds the problems that the schema of a rule set cannot express: patterns, clients, numbers too large for exact arithmetic,
// references between rules, bounds. It also reads sets that violate the schema, so that a problem in one place hides none in
// another.

import { SluiceError } from "../../errors.js"
import type { LeaseOptions } from "../../lease-options.js"
import { compileCidrs, parseCidr } from "../../request/address/cidr.js"
import { checkCost } from "./check-cost.js"
import { checkLimits, type LimitContext, longestLeases, outOfBounds } from "./check-limits.js"
import { checkHeaderName, checkKeyBy, checkMatch } from "./check-match.js"
import { parseClientName } from "./client-name.js"
import type { ApiKeyPlace } from "./credential.js"
import type { Bounds } from "./guard-rails.js"
import { asList, asMap, ProblemList, texts } from "./problem-list.js"
import type { FoundProblem } from "./problems.js"
import { problemOfBody } from "./response-body.js"
import type { Path } from "./schema-issues.js"

const ID = /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/
/** Names with a meaning in JavaScript: as names of fields they would be lost, or would change the object. */
const FORBIDDEN_NAMES = ["__proto__", "constructor", "prototype"]

/** The first `max` problems, without those at a path in `known`. */
export function checkRules(
  set: unknown,
  bounds: Bounds,
  max: number,
  known: ReadonlySet<string>,
): FoundProblem[] {
  const found = new ProblemList(set, max, known)
  return found.collect(() => new Checker(asMap(set), bounds, found).checkAll())
}

class Checker {
  readonly #set: Record<string, unknown>
  readonly #bounds: Bounds
  readonly #found: ProblemList
  readonly #limitContext: LimitContext
  readonly #apiKeyPlace: ApiKeyPlace
  /** The leases of each rule, and the longest of all rules, for overrides. */
  readonly #leases: {
    readonly byRule: ReadonlyMap<unknown, unknown>
    readonly ofAll: readonly LeaseOptions[]
  }
  #clients = 0

  constructor(set: Record<string, unknown>, bounds: Bounds, found: ProblemList) {
    this.#set = set
    this.#bounds = bounds
    this.#found = found
    this.#limitContext = { bounds, defaults: asMap(set.defaults) }
    const byRule = new Map(asList(set.rules).map((rule) => [asMap(rule).id, this.#leasesOf(asMap(rule))]))
    this.#leases = { byRule, ofAll: longestLeases([...byRule.values()]) }
    const { header, query } = asMap(asMap(set.identity).apiKey)
    this.#apiKeyPlace = { apiKeyHeader: texts(header)[0]?.toLowerCase(), apiKeyQuery: texts(query)[0] }
  }

  checkAll(): void {
    const found = this.#found
    const { identity, defaults, tiers, allow, deny } = this.#set
    const rules = asList(this.#set.rules)
    const overrides = asList(this.#set.overrides)
    this.#checkNames(this.#set, [])
    found.try(["identity", "trustedProxies"], () => compileCidrs(texts(asMap(identity).trustedProxies), ""))
    for (const field of ["user", "apiKey", "tier"])
      checkHeaderName(found, asMap(asMap(identity)[field]).header, ["identity", field, "header"])
    checkKeyBy(found, asMap(defaults).keyBy, ["defaults", "keyBy"], undefined)
    this.#checkResponse(asMap(defaults).response, ["defaults", "response"])
    for (const [tier, clients] of Object.entries(asMap(tiers))) this.#checkClients(clients, ["tiers", tier])
    this.#checkClients(allow, ["allow"])
    this.#checkClients(deny, ["deny"])
    rules.forEach((rule, i) => {
      this.#checkRule(asMap(rule), ["rules", i])
    })
    overrides.forEach((override, i) => {
      this.#checkOverride(asMap(override), ["overrides", i])
    })
    const { maxRules, maxClients } = this.#bounds
    if (rules.length > maxRules) outOfBounds(found, ["rules"], rules.length, maxRules, "maxRules")
    if (this.#clients > maxClients) {
      const message = `must name at most ${maxClients} clients (maxClients), got ${this.#clients}`
      found.add("RULE_OUT_OF_BOUNDS", [], message)
    }
    this.#checkReferences(rules.map(asMap), overrides.map(asMap))
  }

  #checkRule(rule: Record<string, unknown>, at: Path): void {
    const found = this.#found
    if (typeof rule.id === "string" && !ID.test(rule.id)) {
      const message = "must be 1 to 64 letters, digits, dots, dashes and underscores"
      found.add("RULE_FIELD_INVALID", [...at, "id"], message)
    }
    const match = asMap(rule.match)
    checkMatch(found, match, [...at, "match"], this.#apiKeyPlace)
    checkKeyBy(found, rule.keyBy, [...at, "keyBy"], match.path)
    const leases = longestLeases([this.#leasesOf(rule)])
    this.#checkLimits(rule.limits, [...at, "limits"], leases)
    for (const [tier, own] of Object.entries(asMap(rule.tiers)))
      this.#checkLimits(asMap(own).limits, [...at, "tiers", tier, "limits"], leases)
    this.#checkLimits(asMap(rule.candidate).limits, [...at, "candidate", "limits"], leases)
    checkCost(found, asMap(rule.cost), [...at, "cost"], this.#apiKeyPlace)
    this.#checkResponse(rule.response, [...at, "response"])
    this.#checkClients(rule.allow, [...at, "allow"])
    this.#checkClients(rule.deny, [...at, "deny"])
  }

  #checkLimits(limits: unknown, at: Path, leases: readonly LeaseOptions[]): void {
    checkLimits(this.#found, limits, at, this.#limitContext, leases)
  }

  #leasesOf(rule: Record<string, unknown>): unknown {
    return rule.leases ?? asMap(this.#set.defaults).leases ?? false
  }

  #checkOverride(override: Record<string, unknown>, at: Path): void {
    this.#checkClients([override.client], at, () => [...at, "client"])
    const names = texts(override.rule)
    const leases =
      names.length === 0 ? this.#leases.ofAll : longestLeases(names.map((id) => this.#leases.byRule.get(id)))
    this.#checkLimits(override.limits, [...at, "limits"], leases)
    if (typeof override.until === "string" && endOf(override.until) === undefined) {
      const message = `must be a date like 2026-12-31 or 2026-12-31T18:00:00Z, got "${override.until.slice(0, 60)}"`
      this.#found.add("RULE_FIELD_INVALID", [...at, "until"], message)
    }
  }

  #checkClients(clients: unknown, at: Path, placeOf = (i: number): Path => [...at, i]): void {
    asList(clients).forEach((client, i) => {
      this.#clients++
      if (typeof client !== "string" || client === "") return
      this.#found.try(placeOf(i), () => {
        const { kind, value } = parseClientName(client, "")
        if (kind === "ip") parseCidr(value, "")
      })
    })
  }

  #checkResponse(response: unknown, at: Path): void {
    const { body, contentType } = asMap(response)
    const problem = problemOfBody(body)
    if (problem !== undefined) this.#found.add("RULE_FIELD_INVALID", [...at, "body"], problem)
    if (typeof contentType === "string" && contentType !== "" && !/^[\x20-\x7e]+$/.test(contentType))
      this.#found.add("RULE_FIELD_INVALID", [...at, "contentType"], "must be a media type")
  }

  /** Finds ids that two rules share, and references to rules that do not exist. */
  #checkReferences(
    rules: readonly Record<string, unknown>[],
    overrides: readonly Record<string, unknown>[],
  ): void {
    const indexes = new Map<unknown, number>()
    rules.forEach(({ id }, i) => {
      if (typeof id !== "string") return
      const other = indexes.get(id)
      if (other === undefined) indexes.set(id, i)
      else this.#found.add("RULE_DUPLICATE", ["rules", i, "id"], `is already the id of rules[${other}]`)
    })
    const checkIds = (ids: unknown, at: Path, self?: unknown) =>
      this.#found.each(ids, at, (id) => {
        if (indexes.has(id) && id !== self) return
        const expected = id === self ? "must not be the rule itself" : "must be the id of a rule in this set"
        throw new SluiceError("RULE_REFERENCE_UNKNOWN", { place: "", expected, found: id })
      })
    rules.forEach(({ id, replaces }, i) => {
      checkIds(replaces, ["rules", i, "replaces"], id)
    })
    overrides.forEach(({ rule }, i) => {
      checkIds(rule, ["overrides", i, "rule"])
    })
  }

  /** Finds forbidden names of fields, at any depth. */
  #checkNames(value: unknown, at: Path): void {
    if (Array.isArray(value)) {
      value.forEach((entry, i) => {
        this.#checkNames(entry, [...at, i])
      })
    } else if (typeof value === "object" && value !== null) {
      for (const [field, entry] of Object.entries(value)) {
        if (FORBIDDEN_NAMES.includes(field))
          this.#found.add("RULE_UNKNOWN_FIELD", [...at, field], "is not allowed as a name")
        else this.#checkNames(entry, [...at, field])
      }
    }
  }
}

/** The end of an override in milliseconds since 1970, or undefined if the text is no date. */
export function endOf(until: string): number | undefined {
  if (!/^\d{4}-\d{2}-\d{2}(T\d{2}:\d{2}(:\d{2}(\.\d+)?)?(Z|[+-]\d{2}:\d{2}))?$/.test(until)) return undefined
  const time = Date.parse(until)
  const day = until.slice(0, 10)
  // Date.parse reads the 31st of February as the 3rd of March.
  const isDay = !Number.isNaN(time) && new Date(day).toISOString().startsWith(day)
  return isDay ? time : undefined
}
