// What decides for `check` and `explain`: a service, or this process with the rules of a file.

import { memoryStore } from "sluice"
import { decisionReplacer } from "sluice/internal"
import { createRuleEngine, parseRuleSet, type RuleEngine } from "sluice/rules"
import { type Invocation, UsageError } from "../../command.js"
import { nameOf, readInput } from "../../files.js"
import { dataPlane } from "../../service-client.js"
import type { ShownDecision } from "./decision-text.js"
import type { DescribedRequest } from "./request.js"

/** A check of one rule by its key. */
export interface KeyCheck {
  readonly rule: string
  readonly key: string
  readonly tier?: string
  readonly cost?: number
}

export interface Explanation {
  readonly revision: number
  readonly rules: readonly ExplainedRule[]
  readonly decision: ShownDecision
  readonly verdict: string
}

export interface ExplainedRule {
  readonly rule: string
  readonly mode: string
  readonly applies: boolean
  readonly because: string
  readonly key?: string
  readonly cost?: number
  readonly limits?: readonly {
    readonly name: string
    readonly limit: number | null
    readonly remaining: number | null
  }[]
  readonly leases?: readonly string[]
  readonly response?: string
}

export interface Decider {
  check(question: DescribedRequest | KeyCheck): Promise<ShownDecision>
  explain(request: DescribedRequest): Promise<Explanation>
}

interface DeciderOptions extends Pick<Invocation, "terminal" | "env"> {
  readonly options: { readonly rules: string | undefined; readonly url: string | undefined }
}

export async function openDecider({ options, terminal, env }: DeciderOptions): Promise<Decider> {
  const { rules: path } = options
  if (path !== undefined && options.url !== undefined)
    throw new UsageError("--rules", "cannot be combined with --url")
  if (path === undefined) {
    const service = dataPlane(options, env)
    return {
      check: (body) => service.request("POST", "/v1/check", { body }),
      explain: (body) => service.request("POST", "/v1/explain", { body }),
    }
  }
  const rules = parseRuleSet(await readInput(path, terminal.stdin), { name: nameOf(path) })
  return localDecider(createRuleEngine({ rules, store: memoryStore() }))
}

function localDecider(engine: RuleEngine): Decider {
  return {
    async check(question) {
      const decision =
        "rule" in question
          ? await engine.checkKey(question.rule, question.key, question)
          : await engine.check(question, question)
      return toServiceJson(decision) as ShownDecision
    },
    explain: async (request) => toServiceJson(await engine.explain(request, request)) as Explanation,
  }
}

/** Converts a decision to what the service answers. */
function toServiceJson(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value, decisionReplacer))
}
