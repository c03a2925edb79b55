import { useEffect, useState } from "preact/hooks"
import type { RuleSetChanges, RuleSpec } from "sluice/rules"
import { ask } from "../service/api.js"
import { Problem, type RuleProblem } from "../service/problem.js"

/** What the service says of a draft. */
export interface Verdict {
  readonly valid: boolean
  readonly problems: readonly RuleProblem[]
  readonly changes?: RuleSetChanges
  /** The rule as it was read, when only one was sent. */
  readonly rule?: RuleSpec
}

export interface Checked {
  /** The last answer; while `isChecking`, that of an older text. */
  readonly verdict: Verdict | undefined
  readonly isChecking: boolean
}

/** After the last key, so that nobody is told of mistakes in a word that is not finished. */
const PAUSE_MS = 250

/** Lets the service check a text as it is typed. With `rule`, the text is that rule alone; empty for a new one. */
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

/** A text that is too long, or a service that is away: nothing can be said, and nothing saved. */
function refusal(problem: unknown): Verdict {
  const message = problem instanceof Error ? problem.message : String(problem)
  const code = problem instanceof Problem ? problem.code : "UNKNOWN"
  return { valid: false, problems: [{ code, path: "", message }] }
}
