// What rate limit headers show of a limit, and in which style. Rules name a style; the middleware writes the headers.

/**
 * - `legacy`: `x-ratelimit-limit`, `x-ratelimit-remaining`, `x-ratelimit-reset` (Unix seconds).
 * - `draft-6`, `draft-7`, `draft-8`: the IETF draft of that number. Later drafts have the form of draft 8.
 * - `both`: `legacy` and `draft-8`.
 * - `none`: no headers, not even `retry-after`.
 */
export type HeaderStyle = (typeof HEADER_STYLES)[number]

export const HEADER_STYLES = ["legacy", "draft-6", "draft-7", "draft-8", "both", "none"] as const

/** The part of a limit that is the same in every response. */
export interface HeaderPolicy {
  readonly name: string
  /** Units per window. */
  readonly quota: number
  readonly windowMs: number
  /** The unit that the limit counts. Default: requests. */
  readonly unit?: "requests" | "content-bytes" | "concurrent-requests" | undefined
}
