// Finds the problems in the cost of a rule that the schema cannot express.

import { MAX_FIELDS, problemOfFieldPath } from "../../field-path.js"
import { checkHeaderName, checkMatch } from "./check-match.js"
import type { ApiKeyPlace } from "./credential.js"
import { asList, asMap, type ProblemList } from "./problem-list.js"
import type { Path } from "./schema-issues.js"
import { parseValuePattern } from "./value-pattern.js"

export function checkCost(
  found: ProblemList,
  cost: Record<string, unknown>,
  at: Path,
  apiKeyPlace: ApiKeyPlace,
): void {
  const { estimate, responseHeader, responseJson } = cost
  checkHeaderName(found, cost.header, [...at, "header"])
  checkHeaderName(found, responseHeader, [...at, "responseHeader"])
  if (typeof estimate === "number" && responseHeader === undefined && responseJson === undefined) {
    const message = "requires responseHeader or responseJson; the fixed cost of a request is default"
    found.add("RULE_FIELD_INVALID", [...at, "estimate"], message)
  } else if (estimate !== undefined && cost.default !== undefined) {
    const message =
      typeof estimate === "number"
        ? "means the same as estimate; use one of them"
        : "must be estimate.default beside an estimate from the body"
    found.add("RULE_FIELD_INVALID", [...at, "default"], message)
  }
  if (cost.overdraft !== undefined && responseHeader === undefined && responseJson === undefined)
    found.add("RULE_FIELD_INVALID", [...at, "overdraft"], "requires responseHeader or responseJson")
  const { json, bytesPerUnit } = asMap(estimate)
  if (isMap(estimate) && json === undefined && bytesPerUnit === undefined)
    found.add("RULE_FIELD_INVALID", [...at, "estimate"], "must have json, bytesPerUnit or both")
  checkFields(found, responseJson, [...at, "responseJson"])
  checkFields(found, json, [...at, "estimate", "json"])
  checkModels(found, cost.models, [...at, "models"])
  asList(cost.by).forEach((entry, i) => {
    checkMatch(found, asMap(entry), [...at, "by", i], apiKeyPlace)
  })
}

/** One field, or weights by field. */
function checkFields(found: ProblemList, fields: unknown, at: Path): void {
  if (typeof fields === "string") checkField(found, fields, at)
  if (!isMap(fields)) return
  const paths = Object.keys(fields)
  if (paths.length === 0 || paths.length > MAX_FIELDS)
    found.add("RULE_FIELD_INVALID", at, `must have 1 to ${MAX_FIELDS} fields`)
  for (const path of paths) checkField(found, path, [...at, path])
  const folded = new Set(paths.map((path) => path.toLowerCase()))
  if (folded.size < paths.length)
    found.add("RULE_FIELD_INVALID", at, "must not have a field twice; upper and lower case are the same")
}

function checkField(found: ProblemList, path: string, at: Path): void {
  const problem = path === "" ? undefined : problemOfFieldPath(path)
  if (problem !== undefined) found.add("RULE_FIELD_INVALID", at, problem)
}

function checkModels(found: ProblemList, models: unknown, at: Path): void {
  if (!isMap(models)) return
  const names = Object.keys(models)
  if (names.length === 0 || names.length > MAX_MODELS)
    found.add("RULE_FIELD_INVALID", at, `must have 1 to ${MAX_MODELS} names`)
  for (const name of names) found.try([...at, name], () => parseValuePattern(name, ""))
}

const MAX_MODELS = 256

function isMap(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value)
}
