import { SluiceError } from "../../errors.js"
import { type FoundProblem, problemAt } from "./problems.js"
import type { Path } from "./schema-issues.js"

/** Thrown to end the search once enough problems are found. */
const ENOUGH = Symbol("enough problems")

/** Collects the problems of one rule set while functions walk through it. */
export class ProblemList {
  readonly problems: FoundProblem[] = []
  readonly #set: unknown
  readonly #max: number
  readonly #known: ReadonlySet<string>

  /** Ends the search after `max` problems, and leaves out those at a path in `known`. */
  constructor(set: unknown, max: number, known: ReadonlySet<string>) {
    this.#set = set
    this.#max = max
    this.#known = known
  }

  /** Runs a search that may end early because enough is found. */
  collect(search: () => void): FoundProblem[] {
    try {
      search()
    } catch (error) {
      if (error !== ENOUGH) throw error
    }
    return this.problems
  }

  add(code: FoundProblem["code"], at: Path, message: string): void {
    const problem = problemAt(this.#set, code, at, message)
    if (this.#known.has(problem.path)) return
    this.problems.push(problem)
    if (this.problems.length >= this.#max) throw ENOUGH
  }

  /** Adds what `check` throws. */
  try(at: Path, check: () => unknown): void {
    try {
      check()
    } catch (error) {
      if (!(error instanceof SluiceError)) throw error
      for (const mistake of [error, ...error.others]) {
        // The error names its place relative to what was checked, like `burst` of a limit.
        const { code, place } = mistake
        const [line = ""] = mistake.message.split("\n")
        const message = line.slice(place.length + 2).replace(/ \[[A-Z_]+\]$/, "")
        this.add(code, [...at, ...innerPath(place)], message)
      }
    }
  }

  /** Checks a text, or each text of a list. Other values and empty texts have been reported by the schema. */
  each(value: unknown, at: Path, check: (text: string) => unknown): void {
    if (Array.isArray(value)) {
      value.forEach((entry, i) => {
        if (typeof entry === "string" && entry !== "") this.try([...at, i], () => check(entry))
      })
    } else if (typeof value === "string" && value !== "") this.try(at, () => check(value))
  }
}

/** `[1].name` → 1, "name". */
function innerPath(place: string): PropertyKey[] {
  return [...place.matchAll(/\[(\d+)\]|([^.[\]]+)/g)].map(([, index, name]) =>
    index === undefined ? (name as string) : Number(index),
  )
}

/** The value if it is a map; an empty map otherwise. */
export function asMap(value: unknown): Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value)
    ? (value as Record<string, unknown>)
    : {}
}

/** The value if it is a list; an empty list otherwise. */
export function asList(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : []
}

/** The texts in a list, or the one text. */
export function texts(value: unknown): string[] {
  return (Array.isArray(value) ? value : [value]).filter((text): text is string => typeof text === "string")
}
