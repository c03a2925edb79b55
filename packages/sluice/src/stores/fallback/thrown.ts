/** The message of whatever was thrown. Never throws itself: `throw Object.create(null)` has no text at all. */
export function messageOf(thrown: unknown): string {
  if (thrown instanceof Error) return thrown.message
  try {
    return String(thrown)
  } catch {
    return "something without a text was thrown"
  }
}
