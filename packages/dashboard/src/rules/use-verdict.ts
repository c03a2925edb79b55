import { useEffect, useState } from "preact/hooks"
import type { RuleSetChanges, RuleSpec } from "sluice/rules"
import { ask } from "../service/api.js"
import { Problem, type RuleProblem } from "../service/problem.js"

/** The result of a check by the service. */
export interface Verdict {
  readonly valid: boolean
  readonly problems: readonly RuleProblem[]
  readonly changes?: RuleSetChanges
  /** The parsed rule, if the text is a single rule. */
  readonly rule?: RuleSpec
}

export interface Checked {
  /** The last result. While `isChecking`, it belongs to an older text. */
  readonly verdict: Verdict | undefined
  readonly isChecking: boolean
}

/** The check waits for a pause in typing, so that it does not report mistakes in unfinished words. */
const PAUSE_MS = 250

/** Has the service check a text while the user types. `rule` is the id of a single rule, empty for a new one. */
export function useVerdict(text: string, rule: string | undefined): Checked {
  const [answer, setAnswer] = useState<{ text: string; verdict: Verdict } | undefined>()
  useEffect(() => {
    const call = new AbortController()
    const timer = setTimeout(() => {
      const query = rule === undefined ? "" : `?${new URLSearchParams({ rule })}`
      const sending = { body: text, type: "application/yaml", signal: call.signal }
      ask<Verdict>("POST", `rules/validate${query}`, sending).then(
        ({ data: verdict }) => setAnswer({ text, verdict }),
        (problem: unknown) => {
          if (!call.signal.aborted) setAnswer({ text, verdict: refusal(problem) })
        },
      )
    }, PAUSE_MS)
    return () => {
      clearTimeout(timer)
      call.abort()
    }
  }, [text, rule])
  return { verdict: answer?.verdict, isChecking: answer?.text !== text }
}

/** The result if the service did not check the text, because it is too long or the service is not reachable. */
function refusal(problem: unknown): Verdict {
  const message = problem instanceof Error ? problem.message : String(problem)
  const code = problem instanceof Problem ? problem.code : "UNKNOWN"
  return { valid: false, problems: [{ code, path: "", message }] }
}
