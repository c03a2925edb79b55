// The form in which paths are compared. A canonical path still has spellings that some backend takes for the same:
// `/Login`, `/login/`, `/login;v=1`, and `/a%2Bb` for `/a+b`. None of them may escape the limit of the other, so they all
// have one form: lower case (ASCII only), no empty segments, no `;params`, and no percent triplet that stands for a
// printable ASCII character. Where a backend does tell two of them apart, they share a limit, which is the safe mistake.

const SLASH = 47
const SEMICOLON = 59
const PERCENT = 37
const UPPER_A = 65
const UPPER_Z = 90

/** A canonical path in the form in which it is compared: `/`, or `/` before each segment. */
export function comparedPath(path: string): string {
  // Requests of Envoy's have none.
  if (path === "") return "/"
  return isCompared(path) ? path : asciiLowerCase(joined(capturedSegments(path)))
}

/** The segments of a path in that form. */
export function segmentsOf(compared: string): string[] {
  const segments: string[] = []
  let start = 1
  // On every request: `split` was a third of a small lookup.
  for (let i = 1; i < compared.length; i++) {
    if (compared.charCodeAt(i) !== SLASH) continue
    segments.push(compared.slice(start, i))
    start = i + 1
  }
  if (start < compared.length) segments.push(compared.slice(start))
  return segments
}

/** The same segments with their upper and lower case as it came: what parameters capture. */
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

/** Most paths are in their compared form already. */
function isCompared(path: string): boolean {
  let before = 0
  for (let i = 0; i < path.length; i++) {
    const code = path.charCodeAt(i)
    if (code === SEMICOLON || code === PERCENT || (code >= UPPER_A && code <= UPPER_Z)) return false
    if (code === SLASH && before === SLASH) return false
    before = code
  }
  return path.charCodeAt(0) === SLASH && (before !== SLASH || path.length === 1)
}
