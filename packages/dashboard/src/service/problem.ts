/** A mistake in a rule set, with its place. */
export interface RuleProblem {
  readonly code: string
  readonly path: string
  readonly message: string
  readonly rule?: string
  readonly line?: number
  readonly column?: number
}

/** What the control plane answers when it does not do what it was asked (RFC 9457). */
export class Problem extends Error {
  readonly status: number
  /** One of those in docs/errors.md, or `UNREACHABLE` when there was no answer. */
  readonly code: string
  readonly problems: readonly RuleProblem[]
  /** The etag in force, when the answer says it: of a conflict, what to start again from. */
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

  /** Somebody else changed the rules meanwhile. */
  get isConflict(): boolean {
    return this.status === 412
  }
}

export function unreachable(cause: unknown): Problem {
  const problem = new Problem(0, { code: "UNREACHABLE", detail: "The service cannot be reached." })
  problem.cause = cause
  return problem
}
