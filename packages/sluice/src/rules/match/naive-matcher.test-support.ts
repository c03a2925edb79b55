// A model of the matcher for tests. It has no index: it tests every part of every rule and tries every place of each `**`.

import type { Matched, MatchSpec, OneOrMore, RequestFacts, ValueSpecs } from "./match-spec.js"

export function naiveMatch(specs: readonly MatchSpec[], facts: RequestFacts): Matched[] {
  return specs.flatMap((spec, index): Matched[] => {
    const { method, host, path, header, query, tier } = spec
    if (method !== undefined && !list(method).some((m) => same(m, facts.method))) return []
    if (host !== undefined && !list(host).some((pattern) => hostMatches(pattern, facts.host))) return []
    if (tier !== undefined && !list(tier).some((t) => t === facts.tier)) return []
    if (!valuesMatch(header, (name) => [facts.header(name) ?? []].flat())) return []
    if (!valuesMatch(query, (name) => valuesInQuery(facts.query, name))) return []
    if (path === undefined) return [{ index, params: undefined, pattern: undefined }]
    for (const pattern of list(path)) {
      const params = pathParams(pattern, facts.path)
      if (params === undefined) continue
      return [{ index, params: Object.keys(params).length === 0 ? undefined : params, pattern }]
    }
    return []
  })
}

/** The captured parameters if the path matches, else undefined. Tries `**` with zero segments first, then one, two and so on. */
export function pathParams(pattern: string, path: string): Record<string, string> | undefined {
  const parts = pattern.split("/").filter((part) => part !== "")
  const segments = path
    .split("/")
    .map((segment) => segment.replace(/;.*/, ""))
    .filter((segment) => segment !== "")
  const dead = new Set<string>()

  function from(i: number, j: number): Record<string, string> | undefined {
    if (dead.has(`${i} ${j}`)) return undefined
    const result = tryFrom(i, j)
    if (result === undefined) dead.add(`${i} ${j}`)
    return result
  }

  function tryFrom(i: number, j: number): Record<string, string> | undefined {
    const part = parts[i]
    if (part === undefined) return j === segments.length ? {} : undefined
    if (part === "**") return from(i + 1, j) ?? (j < segments.length ? from(i, j + 1) : undefined)
    const segment = segments[j]
    if (segment === undefined) return undefined
    if (part.startsWith(":")) {
      const rest = from(i + 1, j + 1)
      return rest && { ...rest, [part.slice(1)]: segment }
    }
    return globMatches(part.toLowerCase(), segment.toLowerCase()) ? from(i + 1, j + 1) : undefined
  }

  return from(0, 0)
}

/** Compares character by character. */
export function globMatches(pattern: string, text: string): boolean {
  let reached = new Set([0])
  for (const character of pattern) {
    const next = new Set<number>()
    for (const at of reached) {
      if (character === "*") for (let i = at; i <= text.length; i++) next.add(i)
      else if (text[at] === character) next.add(at + 1)
    }
    reached = next
  }
  return reached.has(text.length)
}

function hostMatches(pattern: string, header: string): boolean {
  const host = header.toLowerCase().replace(/:\d+$/, "").replace(/\.$/, "")
  const labels = host.split(".")
  const wanted = pattern.toLowerCase().split(".")
  if (wanted[0] !== "*") return wanted.join(".") === host
  const tail = wanted.slice(1)
  const front = labels.slice(0, -tail.length).join(".")
  return front !== "" && labels.slice(-tail.length).join(".") === tail.join(".")
}

function valuesMatch(specs: ValueSpecs | undefined, valuesOf: (name: string) => string[]): boolean {
  return Object.entries(specs ?? {}).every(([name, spec]) => {
    const values = valuesOf(name.toLowerCase())
    return values.some((value) => spec === true || list(spec).some((pattern) => globMatches(pattern, value)))
  })
}

function valuesInQuery(query: string, name: string): string[] {
  return [...new URLSearchParams(query)].filter(([key]) => same(key, name)).map(([, value]) => value)
}

function list(given: OneOrMore): readonly string[] {
  return typeof given === "string" ? [given] : given
}

function same(a: string, b: string): boolean {
  return a.toLowerCase() === b.toLowerCase()
}
