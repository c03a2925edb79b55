// Text with `*` in it, each standing for any characters or none. Matching looks at each piece between the stars once, from
// left to right, and takes the first place it is found at: for stars that is as good as any later one, so nothing is ever
// tried twice.

export interface Glob {
  readonly text: string
  /** Before the first star, between the stars, and behind the last. */
  readonly first: string
  readonly middle: readonly string[]
  readonly last: string
}

/**
 * The longest glob. Looking for one piece can take its length times the length of what is searched, at the very worst: with
 * this bound a header of 16 KB is searched in less than a millisecond, whatever is in it.
 */
export const LONGEST_GLOB = 256

/** Text that has at least one star. */
export function globOf(text: string): Glob {
  const pieces = text.split("*")
  return {
    text,
    first: pieces[0] as string,
    middle: pieces.slice(1, -1).filter((piece) => piece !== ""),
    last: pieces.at(-1) as string,
  }
}

export function matchesGlob({ first, middle, last }: Glob, text: string): boolean {
  const end = text.length - last.length
  let at = first.length
  if (at > end || !text.startsWith(first) || !text.endsWith(last)) return false
  for (const piece of middle) {
    const found = text.indexOf(piece, at)
    if (found < 0) return false
    at = found + piece.length
    if (at > end) return false
  }
  return true
}
