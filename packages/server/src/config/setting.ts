import { nearest } from "sluice/internal"

/** A value of the configuration, and where it was given. */
export interface Setting {
  readonly path: readonly string[]
  readonly value: unknown
  /** `--http.port`, `SLUICE_HTTP__PORT` */
  readonly place: string
}

/** One mistake in the configuration. */
export interface ConfigProblem {
  /** Where the value was given: a flag, a variable, or a line and column of the file. */
  readonly place: string
  /** The setting: `http.port`. */
  readonly path: string
  /** What was expected, and what was found. */
  readonly message: string
}

/** The message for an unknown name, with the most similar known one. */
export function unknownName(name: string, known: readonly string[]): string {
  return withGuess(nearest(name, known))
}

export function withGuess(guess: string | undefined): string {
  return guess === undefined ? "does not exist" : `does not exist; did you mean ${guess}?`
}
