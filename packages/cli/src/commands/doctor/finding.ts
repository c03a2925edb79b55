import type { Style } from "../../terminal/terminal.js"
import { printable } from "../../terminal/text.js"

/** The result of one check. */
export interface Finding {
  /** What was checked: `redis 127.0.0.1:6379 version`. */
  readonly about: string
  readonly status: "fine" | "warning" | "problem" | "skipped"
  readonly message: string
  /** How to fix it. */
  readonly fix?: string
}

/** Functions that create findings about one thing. */
export function findings(about: string) {
  return {
    fine: (message: string): Finding => ({ about, status: "fine", message }),
    skipped: (message: string): Finding => ({ about, status: "skipped", message }),
    warning: (message: string, fix: string): Finding => ({ about, status: "warning", message, fix }),
    problem: (message: string, fix: string): Finding => ({ about, status: "problem", message, fix }),
  }
}

export function findingText({ about, status, message, fix }: Finding, style: Style): string {
  const [mark, paint] = MARKS[status](style)
  const lines = message.trimEnd().split("\n").map(printable)
  const text = [`${paint(`${mark} ${status.padEnd(7)}`)} ${style.bold(about)}: ${lines.join("\n  ")}`]
  if (fix !== undefined) text.push(`  ${style.cyan("→")} ${printable(fix)}`)
  return text.join("\n")
}

const MARKS: Record<Finding["status"], (style: Style) => [string, (text: string) => string]> = {
  fine: ({ green }) => ["✓", green],
  warning: ({ yellow }) => ["!", yellow],
  problem: ({ red }) => ["✗", red],
  skipped: ({ dim }) => ["–", dim],
}
