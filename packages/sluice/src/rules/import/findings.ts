// Problems and notes of an import, with their positions in the texts.

import type { ErrorCode } from "../../errors.js"
import { type RuleProblem, RuleSetError } from "../language/rule-set-error.js"
import { pathText } from "../language/schema-issues.js"
import type { YamlText } from "../language/yaml-text.js"

/** A part of the configuration that has no effect in Sluice, or another effect than in envoyproxy/ratelimit. */
export interface ImportNote {
  /** Where: `descriptors[2].rate_limit.replaces[0]`. */
  readonly path: string
  readonly message: string
  /** Counted from 1. */
  readonly line?: number | undefined
  readonly column?: number | undefined
}

export interface Source {
  readonly name: string
  readonly yaml: YamlText
}

/** A place in one of the texts. */
export interface Place {
  /** The index of the text. */
  readonly text: number
  readonly at: readonly PropertyKey[]
}

interface Finding {
  readonly place: Place
  readonly code: ErrorCode | undefined
  readonly message: string
  readonly isName: boolean
}

export function inside(place: Place, ...parts: PropertyKey[]): Place {
  return { text: place.text, at: [...place.at, ...parts] }
}

export class Findings {
  readonly #sources: readonly Source[]
  readonly #findings: Finding[] = []

  constructor(sources: readonly Source[]) {
    this.#sources = sources
  }

  problem(place: Place, code: ErrorCode, message: string, isName = false): void {
    this.#findings.push({ place, code, message, isName })
  }

  note(place: Place, message: string, isName = false): void {
    this.#findings.push({ place, code: undefined, message, isName })
  }

  /** A place as text. With several texts, the name of the text comes first. */
  pathOf({ text, at }: Place): string {
    const path = pathText(at)
    if (this.#sources.length === 1) return path
    const name = this.#sources[text]?.name ?? ""
    return path === "" ? name : `${name}: ${path}`
  }

  /** Throws all problems, in the order of the texts. */
  refuse(name: string): void {
    const problems = this.#inOrder().flatMap(({ code, ...rest }): RuleProblem[] =>
      code === undefined ? [] : [{ code, ...rest }],
    )
    if (problems.length > 0) throw new RuleSetError(name, problems)
  }

  notes(): ImportNote[] {
    return this.#inOrder().flatMap(({ code, ...rest }) => (code === undefined ? [rest] : []))
  }

  #inOrder() {
    return this.#findings
      .map(({ place, code, message, isName }) => {
        const position = this.#sources[place.text]?.yaml.positionOf(place.at, isName)
        const { line, column } = position ?? { line: undefined, column: undefined }
        return { text: place.text, code, path: this.pathOf(place), message, line, column }
      })
      .sort((a, b) => a.text - b.text || (a.line ?? 0) - (b.line ?? 0) || (a.column ?? 0) - (b.column ?? 0))
      .map(({ text: _text, ...rest }) => rest)
  }
}
