/** A mistake in a rule set, with its path and position. */
export interface RuleProblem {
  readonly code: string
  readonly path: string
  readonly message: string
  readonly rule?: string
  readonly line?: number
  readonly column?: number
}

/** An error answer of the control plane (RFC 9457). */
export class Problem extends Error {
  readonly status: number
  /** A code of docs/errors.md, or `UNREACHABLE` if there was no answer. */
  readonly code: string
  readonly problems: readonly RuleProblem[]
  /** The etag of the current rules, if the answer has it. After a conflict, the next change is based on it. */
  readonly etag: string | undefined

  constructor(
    status: number,
    body: { readonly code?: string; readonly detail?: string; readonly problems?: readonly RuleProblem[] },
    etag?: string,
  ) {
    super(body.detail ?? `status ${status}`)
    this.name = "Problem"
    this.status = status
    this.code = body.code ?? "UNKNOWN"
    this.problems = body.problems ?? []
    this.etag = etag
  }

  /** Whether somebody else changed the rules first. */
  get isConflict(): boolean {
    return this.status === 412
  }
}

export function unreachable(cause: unknown): Problem {
  const problem = new Problem(0, { code: "UNREACHABLE", detail: "The service cannot be reached." })
  problem.cause = cause
  return problem
}
