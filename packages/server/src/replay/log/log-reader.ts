import type { LoggedRequest } from "./logged-request.js"

/** Reads the lines of one format. */
export interface LogReader {
  /** As reports call it. */
  readonly format: string
  /** The request of a line; the reason why there is none; or undefined for a line that tells of none, like a comment. */
  read(line: string): LoggedRequest | string | undefined
}
