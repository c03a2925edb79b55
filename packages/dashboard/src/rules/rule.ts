// Short descriptions of a rule, for lists.

import type { LimitSpec, RuleSetDocument, RuleSpec } from "sluice/rules"

export type Mode = NonNullable<RuleSpec["mode"]>

export function modeOf({ mode = "enforce" }: Pick<RuleSpec, "mode">): Mode {
  return mode
}

/** `POST /login`, `GET, HEAD *.example.com/v1/**`; undefined for a rule that matches every request. */
export function matchText({ match = {} }: Pick<RuleSpec, "match">): string | undefined {
  const { method, host, path, domain, descriptor, ...others } = match
  const where = `${listText(host)}${listText(path)}`
  const entries = descriptor?.map(({ key, value }) => (value === undefined ? key : `${key}=${value}`))
  const parts = [
    listText(method),
    where,
    ...(domain === undefined ? [] : [`${domain}: ${entries?.join(", ")}`]),
    ...Object.entries(others).map(([part, value]) => `${part} ${namesIn(value)}`),
  ].filter((part) => part !== "")
  return parts.length === 0 ? undefined : parts.join(" ")
}

/** `100 / 1m`, or `4 × 1m` for units that are held at a time, each for at most a minute. */
export function limitText(spec: Pick<LimitSpec, "name" | "limit" | "window" | "timeZone" | "hold">): string {
  const { name, limit, window, timeZone, hold } = spec
  const zone = timeZone === undefined ? "" : ` (${timeZone})`
  const span = hold ?? window
  const length = typeof span === "number" ? `${span}ms` : span
  const amount = `${limit} ${hold === undefined ? "/" : "×"} ${length}${zone}`
  return name === undefined ? amount : `${name}: ${amount}`
}

type Defaults = RuleSetDocument["defaults"]

/** The limits of a rule, with the numbers that the defaults of its set give. */
export function limitsOf(
  { limits }: Pick<RuleSpec, "limits">,
  { limit, window }: NonNullable<Defaults> = {},
): readonly LimitSpec[] {
  return limits === "unlimited" ? [] : limits.map((own) => ({ limit, window, ...own }))
}

export function keyText({ keyBy = "ip" }: Pick<RuleSpec, "keyBy">): string {
  return [keyBy].flat().join(" + ")
}

/** The patch that enforces a rule in shadow mode, or the candidate limits of a rule. Undefined if it has neither. */
export function enforcingPatch(rule: RuleSpec): object | undefined {
  if (modeOf(rule) === "shadow") return { mode: "enforce" }
  return rule.candidate === undefined ? undefined : { limits: rule.candidate.limits, candidate: null }
}

/** Whether the list shows every searched word for this rule. */
export function isFound(rule: RuleSpec, search: string, defaults?: Defaults): boolean {
  const { id, description = "" } = rule
  const limits = limitsOf(rule, defaults).map((limit) => `${limitText(limit)} ${limit.algorithm ?? ""}`)
  const shown = [id, description, modeOf(rule), matchText(rule) ?? "", keyText(rule), ...limits]
  const all = shown.join("\n").toLowerCase()
  const words = search.toLowerCase().split(/\s+/)
  return words.every((word) => all.includes(word))
}

/** A path that matches a pattern, as an example: `/users/:id` → `/users/id`. */
export function examplePath(pattern: string): string {
  return pattern.replaceAll("/**", "/anything").replaceAll(/[*:]/g, "")
}

function listText(value: string | readonly string[] | undefined): string {
  return value === undefined ? "" : [value].flat().join(", ")
}

function namesIn(value: unknown): string {
  return typeof value === "object" && !Array.isArray(value)
    ? Object.keys(value ?? {}).join(", ")
    : String(value)
}
