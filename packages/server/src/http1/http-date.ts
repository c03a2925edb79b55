let second = 0
let text = ""

/** The time as a `date` header has it. Put together once a second. */
export function httpDate(): string {
  const now = Date.now()
  if (now - second >= 1_000 || now < second) {
    second = now - (now % 1_000)
    text = new Date(second).toUTCString()
  }
  return text
}
