// The cost of outgoing calls by their bodies: an estimate before the call, the usage that the response reports after it. Loads with
// the first call that needs it.

import type { Decision } from "../decision.js"
import type { Limiter } from "../limiter/limiter.js"
import {
  type BodyEstimate,
  bodyFieldsOf,
  compileEstimate,
  compileModels,
  requestBody,
} from "../usage/body-cost.js"
import { type FieldWeights, fieldTree, weightedSum, weightsOf } from "../usage/fields.js"
import { type ResponseReader, type ResponseUsage, responseReader } from "../usage/response-reader.js"

/** What a call costs by its bodies, as `cost` of a rule. */
export interface CallCost {
  /** The field of the JSON response or stream with the cost, or weights by field: `"usage.total_tokens"`. */
  responseJson?: FieldWeights
  /** What is charged before the call: units, or taken from the JSON body. Default: 1. */
  estimate?: number | BodyEstimate
  /** Factors by the model in the JSON body. The first name, or glob with `*`, counts. */
  models?: Readonly<Record<string, number>>
  /** The largest cost of a call. Default: 1,000,000. */
  max?: number
}

export type SettlingLimiter = Pick<Limiter, "refund" | "reserve">

/** A call that was allowed, and what it was charged. */
export interface ChargedCall {
  readonly key: string
  readonly estimate: number
  readonly factor: number
  readonly decision: Decision
}

const MAX_COST = 1_000_000

export class CallCosts {
  readonly #estimate: (body: unknown) => number
  readonly #factor: (body: unknown) => number
  readonly #fields: ReadonlyMap<string, number>
  readonly #max: number
  readonly #limiter: SettlingLimiter

  constructor(cost: CallCost, limiter: SettlingLimiter) {
    const { estimate = 1, models, responseJson, max = MAX_COST } = cost
    const tree = fieldTree(bodyFieldsOf(estimate, models))
    const ofBody = typeof estimate === "object" ? compileEstimate(estimate, tree) : undefined
    const ofModel = models === undefined ? undefined : compileModels(models, tree)
    this.#estimate = (body) =>
      typeof estimate === "number" ? estimate : (ofBody?.(requestBody(body, undefined, false)) ?? 1)
    this.#factor = (body) => ofModel?.(requestBody(body, undefined, false)) ?? 1
    this.#fields = weightsOf(responseJson)
    this.#max = max
    this.#limiter = limiter
  }

  /** The estimate for a call with this body. A body that is a stream or a form cannot be read. */
  before(body: unknown): { estimate: number; factor: number } {
    const factor = this.#factor(body)
    return { estimate: this.#units(this.#estimate(body), factor), factor }
  }

  /** The response, whose body is read while the caller reads it. The call is settled when the body ends. */
  after(response: Response, call: ChargedCall): Response {
    const reader =
      this.#fields.size === 0
        ? undefined
        : responseReader(this.#fields.keys(), response.headers.get("content-type"))
    if (reader === undefined || response.body === null) return response
    return observed(response, reader, (usage) => this.#settle(call, usage))
  }

  async #settle({ key, estimate, factor, decision }: ChargedCall, usage: ResponseUsage): Promise<void> {
    const used = weightedSum(this.#fields, usage.values)
    if (used === undefined || decision.degraded === "allow") return
    const units = this.#units(used, factor)
    const cost = usage.isComplete ? units : Math.max(units, estimate)
    if (cost < estimate) await this.#limiter.refund(key, estimate - cost, decision)
    // A reservation of nothing is always allowed. It charges what is missing even beyond the limit.
    else if (cost > estimate)
      await (await this.#limiter.reserve(key, { cost: 0 })).reservation?.settle(cost - estimate)
  }

  #units(cost: number, factor: number): number {
    return Math.min(Math.ceil(cost * factor), this.#max)
  }
}

/** The same response with a body that tells a reader what passes. It reads no faster than the caller does. */
function observed(
  response: Response,
  reader: ResponseReader,
  ended: (usage: ResponseUsage) => Promise<void>,
): Response {
  const source = (response.body as ReadableStream<Uint8Array>).getReader()
  // The store reports its own failures; the caller of the API has its response.
  const end = (isComplete: boolean): void => void ended(reader.end(isComplete)).catch(() => {})
  const body = new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        try {
          const { done, value } = await source.read()
          if (done) {
            end(true)
            controller.close()
            return
          }
          reader.write(value)
          controller.enqueue(value)
        } catch (error) {
          end(false)
          controller.error(error)
        }
      },
      async cancel(reason) {
        end(false)
        await source.cancel(reason)
      },
    },
    { highWaterMark: 0 },
  )
  const { url, redirected, type } = response
  const copy = new Response(body, response)
  // A response that is made by hand has none of these.
  return Object.defineProperties(copy, {
    url: { value: url },
    redirected: { value: redirected },
    type: { value: type },
  })
}
