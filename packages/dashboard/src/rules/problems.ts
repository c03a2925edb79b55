// The mistakes that the service found in rules, sorted for the places that show them.

import type { RuleProblem } from "../service/problem.js"
import type { Mark } from "../yaml-editor/code-mirror.js"
import type { Path } from "../yaml-editor/place.js"

/** The path inside the rule: `rules[3].limits[0].limit` → `limits[0].limit`. */
export function pathInRule({ path }: RuleProblem): string {
  return path.replace(/^rules\[\d+\]\.?/, "")
}

/** `["limits", 0, "limit"]` → `limits[0].limit`, as the service writes it. */
export function pathText(path: Path): string {
  return path.reduce<string>(
    (text, step) =>
      typeof step === "number" ? `${text}[${step}]` : `${text}${text === "" ? "" : "."}${step}`,
    "",
  )
}

/** The mistakes at a path or below it, as one text. */
export function messageAt(problems: readonly RuleProblem[], path: Path): string | undefined {
  const wanted = pathText(path)
  const messages = problems
    .filter((problem) => isAt(pathInRule(problem), wanted))
    .map(({ message }) => message)
  return messages.length === 0 ? undefined : messages.join("\n")
}

/** The mistakes at a path or below it, each with its relative path: `limit must be an integer ≥ 1, got 0`. */
export function problemsAt(problems: readonly RuleProblem[], path: Path): string[] {
  const wanted = pathText(path)
  return problems
    .filter((problem) => isAt(pathInRule(problem), wanted))
    .map((problem) =>
      `${pathInRule(problem).slice(wanted.length).replace(/^\./, "")} ${problem.message}`.trim(),
    )
}

/** The mistakes that are at none of the paths. */
export function problemsOutside(problems: readonly RuleProblem[], shown: readonly Path[]): RuleProblem[] {
  const paths = shown.map(pathText)
  return problems.filter((problem) => !paths.some((path) => isAt(pathInRule(problem), path)))
}

/** The mistakes for the YAML editor: `marks` have a line, `notes` have none. */
export function marksOf(problems: readonly RuleProblem[], isSet = false): { marks: Mark[]; notes: string[] } {
  const marks: Mark[] = []
  const notes: string[] = []
  for (const problem of problems) {
    const { line, column = 1 } = problem
    const message = sentenceOf(problem, isSet)
    if (line === undefined) notes.push(message)
    else marks.push({ line, column, message })
  }
  return { marks, notes }
}

/** `limits[0].limit must be an integer ≥ 1, got 0` */
export function sentenceOf(problem: RuleProblem, isSet = false): string {
  const path = isSet ? problem.path : pathInRule(problem)
  return path === "" ? problem.message : `${path} ${problem.message}`
}

function isAt(path: string, wanted: string): boolean {
  return path === wanted || path.startsWith(`${wanted}.`) || path.startsWith(`${wanted}[`)
}
