import type { Pool } from "./pool.js"

/** A backend by its name: one or more addresses that answer alike. */
export interface Upstream {
  readonly name: string
  /** Whose turn it is; undefined when none is fit. `except` is one that has just failed: another, if there is one. */
  pick(except?: Target): Target | undefined
}

/** One address of an upstream. */
export interface Target {
  /** `http://127.0.0.1:3000` */
  readonly origin: string
  readonly pool: Pool
  /** An exchange starts. Each call is followed by one of `ended`. */
  begin(): void
  /** `failed`: no connection, a broken one, a deadline or an answer that is no HTTP. A status 500 is an answer. */
  ended(outcome: "answered" | "failed"): void
}
