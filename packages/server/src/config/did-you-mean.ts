import { nearest } from "sluice"

export function didYouMean(word: string, known: readonly string[]): string {
  const guess = nearest(word, known)
  return guess === undefined ? "does not exist" : `does not exist; did you mean ${guess}?`
}
