// The form in which paths are compared. A canonical path still has spellings that some backend takes for the same:
// `/Login`, `/login/`, `/login;v=1`, and `/a%2Bb` for `/a+b`. None of them may escape the limit of the other, so they all
// have one form: lower case (ASCII only), no empty segments, no `;params`, and no percent triplet that stands for a
// printable ASCII character. Where a backend does tell two of them apart, they share a limit, which is the safe mistake.

/** The segments of a canonical path, with their upper and lower case as it came: what parameters capture. */
export function capturedSegments(path: string): string[] {
  return path
    .split("/")
    .map(bareSegment)
    .filter((segment) => segment !== "")
}

/** Segments as a path. */
export function joined(segments: readonly string[]): string {
  return `/${segments.join("/")}`
}

/**
 * Slash, backslash and percent stay encoded: decoded, they would mean something else. Beyond ASCII a character is several
 * triplets, which have one spelling in a canonical path already.
 */
export function decodePrintable(text: string): string {
  if (!text.includes("%")) return text
  return text.replace(/%([2-7][0-9a-f])/gi, (triplet, hex: string) => {
    const character = String.fromCharCode(Number.parseInt(hex, 16))
    return "/\\%\x7f".includes(character) ? triplet : character
  })
}

/** Never changes the length, as `toLowerCase` may beyond ASCII. */
export function asciiLowerCase(text: string): string {
  return text.replace(/[A-Z]+/g, (letters) => letters.toLowerCase())
}

function bareSegment(segment: string): string {
  const semicolon = segment.indexOf(";")
  return decodePrintable(semicolon < 0 ? segment : segment.slice(0, semicolon))
}
