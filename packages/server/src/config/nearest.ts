/** The word that a misspelt one was meant to be: two letters changed, added or dropped at most. */
export function nearest(word: string, known: readonly string[]): string | undefined {
  const lower = word.toLowerCase()
  return known.find((candidate) => isNear(lower, candidate.toLowerCase(), 2))
}

function isNear(a: string, b: string, edits: number): boolean {
  let same = 0
  while (same < a.length && a[same] === b[same]) same++
  const [restA, restB] = [a.slice(same), b.slice(same)]
  if (restA === restB) return true
  if (edits === 0) return false
  const [nextA, nextB] = [restA.slice(1), restB.slice(1)]
  return isNear(nextA, nextB, edits - 1) || isNear(nextA, restB, edits - 1) || isNear(restA, nextB, edits - 1)
}

export function didYouMean(word: string, known: readonly string[]): string {
  const guess = nearest(word, known)
  return guess === undefined ? "does not exist" : `does not exist; did you mean ${guess}?`
}
