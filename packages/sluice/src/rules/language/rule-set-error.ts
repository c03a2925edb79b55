import { type ClassOf, type ErrorCode, isInstance, markInstance, markOf, SluiceError } from "../../errors.js"

const MARK = /* @__PURE__ */ markOf("RuleSetError")

/** One problem of a rule set. */
export interface RuleProblem {
  readonly code: ErrorCode
  /** Where: `rules[2].limits[0].window`. */
  readonly path: string
  /** The id of the rule, if the problem is in a rule that has one. */
  readonly rule?: string | undefined
  /** What was expected and what was found. */
  readonly message: string
  /** Counted from 1. Only for a set that was read from text. */
  readonly line?: number | undefined
  readonly column?: number | undefined
}

/** A rule set that is invalid, with every problem in it. */
export class RuleSetError extends SluiceError {
  readonly problems: readonly RuleProblem[]

  constructor(source: string, problems: readonly RuleProblem[]) {
    const count = problems.length === 1 ? "1 mistake" : `${problems.length} mistakes`
    super("RULES_INVALID", {
      place: source,
      expected: `${count}\n${problems.map((problem) => `  ${describe(problem)}`).join("\n")}\n`,
    })
    this.problems = problems
    markInstance(this, MARK)
  }

  /** Also true for errors that another copy of this library has thrown. */
  static override [Symbol.hasInstance]<T>(this: ClassOf<T>, value: unknown): value is T {
    // biome-ignore lint/complexity/noThisInStatic: a class that extends this one asks here, too.
    return isInstance(this, value, RuleSetError, MARK)
  }
}

function describe({ code, path, rule, message, line, column }: RuleProblem): string {
  const where = line === undefined ? "" : `${line}:${column} `
  const place = rule === undefined ? path : `rule "${rule}": ${path.replace(/^rules\[\d+\]\.?/, "")}`
  return `${where}${place === "" ? "rule set" : place} ${message} [${code}]`
}
