// The cost of a request by its body: an estimate before the answer, and a factor for its model.

import { matchesValue, parseValuePattern, type ValuePattern } from "../rules/language/value-pattern.js"
import { type FieldWeights, weightedSum, weightsOf } from "./fields.js"
import type { FieldNode } from "./json-scanner.js"
import { type BodyFields, lengthOfBody, readBody } from "./request-body.js"

/** An estimate from the body of a request. */
export interface BodyEstimate {
  /** Fields of the JSON body, such as `max_tokens`, by weight. Their values are added. */
  readonly json?: FieldWeights | undefined
  /** So many bytes of the body are one unit. */
  readonly bytesPerUnit?: number | undefined
  /** In place of the fields, when the body has none of them. Default: 1. */
  readonly default?: number | undefined
  /** The largest estimate. */
  readonly max?: number | undefined
}

/** The body of a request, read at most once for each tree of fields. */
export interface RequestBody {
  fields(tree: FieldNode): BodyFields
  /** In bytes; undefined if it is not known. */
  readonly length: number | undefined
  /** False for a request without a body. */
  readonly isPresent: boolean
}

const MODEL = "model"

/** The paths that an estimate and factors by model read in a body, in lower case. */
export function bodyFieldsOf(
  estimate: number | BodyEstimate | undefined,
  models: Readonly<Record<string, number>> | undefined,
): string[] {
  const ofEstimate = typeof estimate === "object" ? [...weightsOf(estimate.json).keys()] : []
  return models === undefined ? ofEstimate : [...ofEstimate, MODEL]
}

export type EstimateOf = (body: RequestBody) => number

export function compileEstimate(estimate: BodyEstimate, tree: FieldNode): EstimateOf {
  const { json, bytesPerUnit, max = Number.MAX_SAFE_INTEGER } = estimate
  const otherwise = estimate.default ?? 1
  const weights = weightsOf(json)
  return (body) => {
    const ofFields = json === undefined ? 0 : (weightedSum(weights, body.fields(tree).numbers) ?? otherwise)
    let ofLength = 0
    if (bytesPerUnit !== undefined) {
      // Without fields there is nothing else to estimate by.
      const unknown = json === undefined && body.isPresent ? otherwise : 0
      ofLength = body.length === undefined ? unknown : body.length / bytesPerUnit
    }
    return Math.max(1, Math.min(Math.ceil(ofFields + ofLength), max))
  }
}

/**
 * The factor of the model that a body names. A body that names several, or that cannot be read, has the largest factor: a client
 * could otherwise hide an expensive model.
 */
export function compileModels(
  models: Readonly<Record<string, number>>,
  tree: FieldNode,
): (body: RequestBody) => number {
  const patterns = Object.entries(models).map(([name, factor]): [ValuePattern, number] => [
    parseValuePattern(name, "models"),
    factor,
  ])
  const largest = Math.max(...Object.values(models))
  const factorOf = (model: string): number =>
    patterns.find(([pattern]) => matchesValue(pattern, model))?.[1] ?? 1
  return (body) => {
    if (!body.isPresent) return factorOf("")
    const { texts, isWhole } = body.fields(tree)
    if (!isWhole) return largest
    return Math.max(...(texts.get(MODEL) ?? [""]).map(factorOf))
  }
}

/** A body that the caller has in hand. `declaredLength` is that of its Content-Length. */
export function requestBody(
  body: unknown,
  declaredLength: number | undefined,
  isPresent: boolean,
): RequestBody {
  let tree: FieldNode | undefined
  let known: BodyFields | undefined
  return {
    fields(wanted) {
      if (known === undefined || tree !== wanted) known = readBody(body, wanted)
      tree = wanted
      return known
    },
    get length() {
      const own = lengthOfBody(body)
      return own === undefined ? declaredLength : Math.max(own, declaredLength ?? 0)
    },
    isPresent: isPresent || (body !== undefined && body !== null),
  }
}
