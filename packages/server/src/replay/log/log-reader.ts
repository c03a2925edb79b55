import type { LoggedRequest } from "./logged-request.js"

/** Reads the lines of one format. */
export interface LogReader {
  /** The name of the format in reports. */
  readonly format: string
  /** Returns the request of a line, the reason why it is unreadable, or undefined for a line without one, such as a comment. */
  read(line: string): LoggedRequest | string | undefined
}
