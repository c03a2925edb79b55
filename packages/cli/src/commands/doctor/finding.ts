/** What one look has found. */
export interface Finding {
  /** What was looked at: `redis version`. */
  readonly about: string
  readonly status: "fine" | "warning" | "problem" | "skipped"
  readonly message: string
  /** What to do about it. */
  readonly fix?: string
}

/** Makes findings about one thing. */
export function findings(about: string) {
  return {
    fine: (message: string): Finding => ({ about, status: "fine", message }),
    skipped: (message: string): Finding => ({ about, status: "skipped", message }),
    warning: (message: string, fix: string): Finding => ({ about, status: "warning", message, fix }),
    problem: (message: string, fix: string): Finding => ({ about, status: "problem", message, fix }),
  }
}
