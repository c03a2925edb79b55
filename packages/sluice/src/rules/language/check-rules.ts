// The mistakes in a rule set that its shape does not show: patterns, clients, numbers too large for exact arithmetic,
// rules that name each other, bounds. It looks at whatever is there, so that a mistake in one place hides none in another.

import { parseDuration } from "../../duration.js"
import { SluiceError } from "../../errors.js"
import { compilePolicy, type LimitOptions } from "../../policy.js"
import { compileCidrs, parseCidr } from "../../request/address/cidr.js"
import { parseClientName } from "../engine/client.js"
import { type ApiKeyPlace, isCredential } from "../engine/credential.js"
import { parseKeyPart } from "../engine/key.js"
import { compileLimitSet } from "../engine/limit-set.js"
import { parseHostPattern, parsePathPattern, parseValuePattern } from "../match/index.js"
import type { Bounds } from "./guard-rails.js"
import { type FoundProblem, problemAt } from "./problems.js"
import { ALGORITHMS, type LimitSpec, limitSchema } from "./schema.js"

type Path = readonly PropertyKey[]

const ID = /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/
/** Names that mean something else in JavaScript: as keys of an object they would be lost, or worse. */
const FORBIDDEN = ["__proto__", "constructor", "prototype"]
const METHOD = /^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,32}$/
const HEADER = METHOD

/** The first `most` mistakes, without those at a path that is known to hold one. */
export function checkRules(
  set: unknown,
  bounds: Bounds,
  most: number,
  known: ReadonlySet<string>,
): FoundProblem[] {
  const checker = new Checker(set, bounds, most, known)
  try {
    checker.all()
  } catch (error) {
    if (error !== ENOUGH) throw error
  }
  return checker.problems
}

/** Thrown to end the search once enough is found. */
const ENOUGH = Symbol("enough problems")

class Checker {
  readonly problems: FoundProblem[] = []
  readonly #set: Record<string, unknown>
  readonly #bounds: Bounds
  readonly #most: number
  readonly #known: ReadonlySet<string>
  #clients = 0

  constructor(set: unknown, bounds: Bounds, most: number, known: ReadonlySet<string>) {
    this.#set = asMap(set)
    this.#bounds = bounds
    this.#most = most
    this.#known = known
  }

  all(): void {
    this.#names(this.#set, [])
    const identity = asMap(this.#set.identity)
    this.#try(["identity", "trustedProxies"], (place) => compileCidrs(texts(identity.trustedProxies), place))
    for (const field of ["user", "apiKey", "tier"])
      this.#header(asMap(identity[field]).header, ["identity", field, "header"])
    this.#keyBy(asMap(this.#set.defaults).keyBy, ["defaults", "keyBy"], undefined)
    this.#response(asMap(this.#set.defaults).response, ["defaults", "response"])
    for (const [tier, clients] of Object.entries(asMap(this.#set.tiers)))
      this.#clientList(clients, ["tiers", tier])
    this.#clientList(this.#set.allow, ["allow"])
    this.#clientList(this.#set.deny, ["deny"])
    asList(this.#set.rules).forEach((rule, i) => {
      this.#rule(asMap(rule), ["rules", i])
    })
    asList(this.#set.overrides).forEach((override, i) => {
      this.#override(asMap(override), ["overrides", i])
    })
    this.#bound("rules", asList(this.#set.rules).length, this.#bounds.maxRules, "maxRules")
    this.#bound("", this.#clients, this.#bounds.maxClients, "maxClients")
    this.#ids()
  }

  #rule(rule: Record<string, unknown>, at: Path): void {
    if (typeof rule.id === "string" && !ID.test(rule.id)) {
      this.#add(
        "RULE_FIELD_INVALID",
        [...at, "id"],
        "must be 1 to 64 letters, digits, dots, dashes and underscores",
      )
    }
    const match = asMap(rule.match)
    this.#match(match, [...at, "match"])
    this.#keyBy(rule.keyBy, [...at, "keyBy"], match.path)
    this.#limits(rule.limits, [...at, "limits"])
    for (const [tier, own] of Object.entries(asMap(rule.tiers)))
      this.#limits(asMap(own).limits, [...at, "tiers", tier, "limits"])
    this.#limits(asMap(rule.candidate).limits, [...at, "candidate", "limits"])
    const cost = asMap(rule.cost)
    this.#cost(cost, [...at, "cost"])
    this.#response(rule.response, [...at, "response"])
    this.#clientList(rule.allow, [...at, "allow"])
    this.#clientList(rule.deny, [...at, "deny"])
  }

  #cost(cost: Record<string, unknown>, at: Path): void {
    this.#header(cost.header, [...at, "header"])
    this.#header(cost.responseHeader, [...at, "responseHeader"])
    if (cost.estimate !== undefined) {
      if (cost.responseHeader === undefined)
        this.#add(
          "RULE_FIELD_INVALID",
          [...at, "estimate"],
          "needs responseHeader; default is what a request costs",
        )
      else if (cost.default !== undefined)
        this.#add("RULE_FIELD_INVALID", [...at, "default"], "says the same as estimate; give one of them")
    }
    asList(cost.by).forEach((entry, i) => {
      this.#match(asMap(entry), [...at, "by", i])
    })
  }

  #match(match: Record<string, unknown>, at: Path): void {
    this.#descriptor(match, at)
    this.#each(match.path, [...at, "path"], parsePathPattern)
    this.#each(match.host, [...at, "host"], parseHostPattern)
    this.#each(match.method, [...at, "method"], (text, place) => {
      if (!METHOD.test(text))
        throw new SluiceError("RULE_FIELD_INVALID", {
          place,
          expected: "must be an HTTP method",
          found: text,
        })
    })
    for (const part of ["header", "query"]) {
      for (const [name, values] of Object.entries(asMap(match[part]))) {
        if (part === "header") this.#header(name, [...at, part, name])
        const isSecret = isCredential(this.#apiKeyPlace(), part, name.toLowerCase())
        this.#each(values, [...at, part, name], isSecret ? parseCredentialPattern : parseValuePattern)
      }
    }
  }

  #descriptor({ domain, descriptor, ...others }: Record<string, unknown>, at: Path): void {
    if (descriptor === undefined && domain === undefined) return
    const other = Object.keys(others)[0]
    if (other !== undefined)
      this.#add("RULE_FIELD_INVALID", [...at, other], "cannot stand beside domain and descriptor")
    for (const [field, value] of Object.entries({ domain, descriptor })) {
      if (value === undefined) this.#add("RULE_FIELD_INVALID", [...at, field], "is required beside the other")
    }
    asList(descriptor).forEach((entry, i) => {
      const { value, not } = asMap(entry)
      this.#each(value, [...at, "descriptor", i, "value"], parseValuePattern)
      this.#each(not, [...at, "descriptor", i, "not"], parseValuePattern)
    })
  }

  #keyBy(keyBy: unknown, at: Path, path: unknown): void {
    const paths = texts(path)
    /** The segments of each path, split once however many parts the key has. */
    let segments: readonly ReadonlySet<string>[] | undefined
    const checked = new Set<string>()
    this.#each(keyBy, at, (text, place) => {
      const part = parseKeyPart(text, place)
      if (part.kind !== "param" || checked.has(part.name)) return
      segments ??= paths.map((one) => new Set(one.split("/")))
      const lacking = paths[segments.findIndex((names) => !names.has(`:${part.name}`))]
      if (paths.length > 0 && lacking === undefined) {
        checked.add(part.name)
        return
      }
      throw new SluiceError("RULE_REFERENCE_UNKNOWN", {
        place,
        expected: `needs :${part.name} in every path of the rule`,
        found: lacking ?? "no path",
      })
    })
  }

  /** A list of limits: each by itself, then whether their counters can be told apart. */
  #limits(limits: unknown, at: Path): void {
    const list = asList(limits)
    this.#bound(at, list.length, this.#bounds.maxLimits, "maxLimits")
    const algorithm = asMap(this.#set.defaults).algorithm
    const good: LimitSpec[] = []
    // Beyond the bound it is one mistake, not one for each.
    list.slice(0, this.#bounds.maxLimits).forEach((limit, i) => {
      const parsed = limitSchema.safeParse({
        ...(ALGORITHMS.some((known) => known === algorithm) ? { algorithm } : {}),
        ...asMap(limit),
      })
      if (!parsed.success) return
      this.#try([...at, i], () => {
        compilePolicy(parsed.data as LimitOptions, "")
        good.push(parsed.data)
      })
      this.#numbers(parsed.data, [...at, i])
    })
    if (good.length === list.length && good.length > 1) this.#try(at, () => compileLimitSet(good, "", ""))
  }

  #numbers(limit: LimitSpec, at: Path): void {
    const { minWindow, maxWindow, minLimit, maxLimit } = this.#bounds
    for (const field of ["limit", "burst", "maxBurst"] as const) {
      const value = limit[field]
      if (value === undefined) continue
      if (value > maxLimit) this.#outside([...at, field], `must be at most ${maxLimit} (maxLimit)`, value)
      if (field === "limit" && value < minLimit)
        this.#outside([...at, field], `must be at least ${minLimit} (minLimit)`, value)
    }
    const window = durationOf(limit.window)
    if (window < minWindow)
      this.#outside([...at, "window"], `must be at least ${minWindow} ms (minWindow)`, limit.window)
    if (window > maxWindow)
      this.#outside([...at, "window"], `must be at most ${maxWindow} ms (maxWindow)`, limit.window)
  }

  #override(override: Record<string, unknown>, at: Path): void {
    this.#clientList([override.client], at, () => [...at, "client"])
    this.#limits(override.limits, [...at, "limits"])
    if (typeof override.until === "string" && endOf(override.until) === undefined) {
      const message = `must be a date like 2026-12-31 or 2026-12-31T18:00:00Z, got "${override.until.slice(0, 60)}"`
      this.#add("RULE_FIELD_INVALID", [...at, "until"], message)
    }
  }

  #clientList(clients: unknown, at: Path, placeOf = (i: number): Path => [...at, i]): void {
    asList(clients).forEach((client, i) => {
      this.#clients++
      if (typeof client !== "string" || client === "") return
      this.#try(placeOf(i), () => {
        const { kind, value } = parseClientName(client, "")
        if (kind === "ip") parseCidr(value, "")
      })
    })
  }

  /** Ids that are there twice, and those that are named and not there. */
  #ids(): void {
    const rules = asList(this.#set.rules).map(asMap)
    const first = new Map<unknown, number>()
    rules.forEach(({ id }, i) => {
      if (typeof id !== "string") return
      const other = first.get(id)
      if (other === undefined) first.set(id, i)
      else this.#add("RULE_DUPLICATE", ["rules", i, "id"], `is already the id of rules[${other}]`)
    })
    rules.forEach(({ id, replaces }, i) => {
      this.#references(replaces, ["rules", i, "replaces"], first, id)
    })
    asList(this.#set.overrides).forEach((override, i) => {
      this.#references(asMap(override).rule, ["overrides", i, "rule"], first, undefined)
    })
  }

  #references(ids: unknown, at: Path, known: Map<unknown, number>, self: unknown): void {
    this.#each(ids, at, (id, place) => {
      if (known.has(id) && id !== self) return
      const expected = id === self ? "must not be the rule itself" : "must be the id of a rule of this set"
      throw new SluiceError("RULE_REFERENCE_UNKNOWN", { place, expected, found: id })
    })
  }

  #apiKeyPlace(): ApiKeyPlace {
    const { header, query } = asMap(asMap(this.#set.identity).apiKey)
    return { apiKeyHeader: texts(header)[0]?.toLowerCase(), apiKeyQuery: texts(query)[0] }
  }

  #response(response: unknown, at: Path): void {
    const { contentType } = asMap(response)
    if (typeof contentType === "string" && contentType !== "" && !/^[\x20-\x7e]+$/.test(contentType))
      this.#add("RULE_FIELD_INVALID", [...at, "contentType"], "must be a media type")
  }

  #header(name: unknown, at: Path): void {
    if (typeof name === "string" && !HEADER.test(name))
      this.#add("RULE_FIELD_INVALID", at, "must be the name of a header")
  }

  /** Names that no map may have, wherever they are. */
  #names(value: unknown, at: Path): void {
    if (Array.isArray(value)) {
      value.forEach((entry, i) => {
        this.#names(entry, [...at, i])
      })
    } else if (typeof value === "object" && value !== null) {
      for (const [field, entry] of Object.entries(value)) {
        if (FORBIDDEN.includes(field))
          this.#add("RULE_UNKNOWN_FIELD", [...at, field], "is not allowed as a name")
        else this.#names(entry, [...at, field])
      }
    }
  }

  #each(value: unknown, at: Path, check: (text: string, place: string) => unknown): void {
    if (Array.isArray(value)) {
      value.forEach((entry, i) => {
        if (typeof entry === "string" && entry !== "") this.#try([...at, i], (place) => check(entry, place))
      })
    } else if (typeof value === "string" && value !== "") this.#try(at, (place) => check(value, place))
  }

  #try(at: Path, check: (place: string) => unknown): void {
    try {
      check("")
    } catch (error) {
      if (!(error instanceof SluiceError)) throw error
      // The place inside of what was checked, like `burst` of a limit.
      const inner = error.place === "" ? [] : innerPath(error.place)
      const found = error.message.slice(error.place.length + 2).replace(/ \[[A-Z_]+\]$/, "")
      this.#add(error.code, [...at, ...inner], found)
    }
  }

  #bound(at: Path | string, count: number, most: number, name: string): void {
    if (count <= most) return
    const path = typeof at === "string" ? (at === "" ? [] : [at]) : at
    const what = path.length === 0 ? "must name at most" : "must have at most"
    const unit = path.length === 0 ? " clients" : ""
    this.#add("RULE_OUT_OF_BOUNDS", path, `${what} ${most}${unit} (${name}), got ${count}`)
  }

  #outside(at: Path, message: string, found: unknown): void {
    this.#add("RULE_OUT_OF_BOUNDS", at, `${message}, got ${JSON.stringify(found)}`)
  }

  #add(code: FoundProblem["code"], at: Path, message: string): void {
    const problem = problemAt(this.#set, code, at, message)
    if (this.#known.has(problem.path)) return
    this.problems.push(problem)
    if (this.problems.length >= this.#most) throw ENOUGH
  }
}

/** Rule sets are stored, logged and shown: no credential may stand in one. */
function parseCredentialPattern(text: string, place: string): void {
  if (text.includes("*")) parseValuePattern(text, place)
  else {
    throw new SluiceError("RULE_FIELD_INVALID", {
      place,
      expected:
        "must be true or a glob with *, never a credential; lists and tiers name API keys by their hash",
    })
  }
}

/** When an override ends, in milliseconds since 1970. */
export function endOf(until: string): number | undefined {
  if (!/^\d{4}-\d{2}-\d{2}(T\d{2}:\d{2}(:\d{2}(\.\d+)?)?(Z|[+-]\d{2}:\d{2}))?$/.test(until)) return undefined
  const time = Date.parse(until)
  const day = until.slice(0, 10)
  // Date.parse takes the 31st of February for the 3rd of March.
  const isDay = !Number.isNaN(time) && new Date(day).toISOString().startsWith(day)
  return isDay ? time : undefined
}

function durationOf(window: unknown): number {
  try {
    return parseDuration(window, "")
  } catch {
    return Number.NaN
  }
}

/** `[1].name` → 1, "name". */
function innerPath(place: string): PropertyKey[] {
  return [...place.matchAll(/\[(\d+)\]|([^.[\]]+)/g)].map(([, index, name]) =>
    index === undefined ? (name as string) : Number(index),
  )
}

function asMap(value: unknown): Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value)
    ? (value as Record<string, unknown>)
    : {}
}

function asList(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : []
}

function texts(value: unknown): string[] {
  return (Array.isArray(value) ? value : [value]).filter((text): text is string => typeof text === "string")
}
