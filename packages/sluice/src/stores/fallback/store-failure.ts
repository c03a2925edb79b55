import { type ClassOf, isInstance, markInstance, markOf } from "../../errors.js"

/** Why a store could not answer. Metrics use it as a label, so the list is closed. */
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
 * Thrown by a store that talks to a server. The guard around the store catches it, so callers of a limiter get a degraded
 * decision instead.
 */
export class StoreFailure extends Error {
  override readonly name = "StoreFailure"
  readonly kind: FailureKind
  /** Whether the server may have made the charge, because only its answer was lost. Such a call is never repeated. */
  readonly ambiguous: boolean

  constructor(kind: FailureKind, message: string, options: { ambiguous?: boolean; cause?: unknown } = {}) {
    super(message, { cause: options.cause })
    this.kind = kind
    this.ambiguous = options.ambiguous ?? false
    markInstance(this, MARK)
  }

  /** Also true for failures of another copy of this library. */
  static override [Symbol.hasInstance]<T>(this: ClassOf<T>, value: unknown): value is T {
    // biome-ignore lint/complexity/noThisInStatic: `this` may be a class that extends this one.
    return isInstance(this, value, StoreFailure, MARK)
  }
}
