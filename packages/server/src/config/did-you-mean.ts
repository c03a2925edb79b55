import { nearest } from "sluice/internal"

export function didYouMean(word: string, known: readonly string[]): string {
  return withGuess(nearest(word, known))
}

/** Suggests a flag. People also shorten a flag to its last part or leave out the dots: `--port`, `--rulesFile`. */
export function didYouMeanFlag(flag: string, known: readonly string[]): string {
  const plain = letters(flag)
  const guess =
    nearest(flag, known) ??
    known.find((name) => letters(name) === plain) ??
    known.find((name) => letters(name.slice(name.lastIndexOf(".") + 1)) === plain) ??
    known.find((name) => plain.length > 3 && letters(name).startsWith(plain))
  return withGuess(guess)
}

function withGuess(guess: string | undefined): string {
  return guess === undefined ? "does not exist" : `does not exist; did you mean ${guess}?`
}

function letters(text: string): string {
  return text.toLowerCase().replace(/[^a-z0-9]/g, "")
}
