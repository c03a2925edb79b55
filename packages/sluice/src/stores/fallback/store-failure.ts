import { type ClassOf, isInstance, markOf } from "../../kind.js"

/** Why a store could not answer. Used as a metric label, so the list is closed. */
export type FailureKind =
  | "timeout"
  | "connection"
  | "breaker-open"
  | "readonly"
  | "loading"
  | "cluster-down"
  | "out-of-memory"
  | "busy"
  | "no-auth"
  | "no-permission"
  | "wrong-type"
  | "not-writable"
  | "other"

const MARK = /* @__PURE__ */ markOf("StoreFailure")

/**
 * Thrown by stores that talk to a server, and caught by the guard around them: callers of a limiter never see it, they
 * get a degraded decision.
 */
export class StoreFailure extends Error {
  override readonly name = "StoreFailure"
  readonly kind: FailureKind
  /** The charge may have happened all the same: the answer was lost, not the question. Never repeated. */
  readonly ambiguous: boolean

  constructor(kind: FailureKind, message: string, options: { ambiguous?: boolean; cause?: unknown } = {}) {
    super(message, { cause: options.cause })
    this.kind = kind
    this.ambiguous = options.ambiguous ?? false
  }

  /** Also true of failures of another copy of this library. */
  static override [Symbol.hasInstance]<T>(this: ClassOf<T>, value: unknown): value is T {
    // biome-ignore lint/complexity/noThisInStatic: a class that extends this one asks here, too.
    return isInstance(this, value, StoreFailure, MARK)
  }

  get [MARK](): true {
    return true
  }
}
