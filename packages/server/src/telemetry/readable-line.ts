/** Fields that the line shows elsewhere, or that do not help a person at the terminal. */
const LEADING: readonly string[] = ["level", "time", "pid", "msg"]

/**
 * Formats a log entry for a terminal: `10:15:02 warn  the store did not answer  reason=timeout`. Values are quoted where they
 * could be ambiguous, so text from clients can neither forge a line nor move the cursor.
 */
export function readableLine(line: string): string {
  const fields = JSON.parse(line) as Record<string, unknown>
  const time = new Date(String(fields.time))
  const clock = Number.isNaN(time.getTime()) ? "" : `${time.toTimeString().slice(0, 8)} `
  const details = Object.entries(fields)
    .filter(([name]) => !LEADING.includes(name))
    .map(([name, value]) => `${name}=${shown(value)}`)
  const head = `${clock}${String(fields.level).padEnd(5)} ${text(String(fields.msg ?? ""))}`
  return `${[head, ...details].join("  ").trimEnd()}\n`
}

function shown(value: unknown): string {
  if (typeof value !== "string") return escaped(JSON.stringify(value) ?? "")
  return /^[^\s"=]+$/.test(value) && text(value) === value ? value : escaped(JSON.stringify(value))
}

/** Messages are our own words. Control characters are removed all the same. */
function text(words: string): string {
  return escaped(words.replace(/\s+/g, " "))
}

function escaped(words: string): string {
  return words.replace(
    /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu,
    (character) => `\\u${(character.codePointAt(0) as number).toString(16).padStart(4, "0")}`,
  )
}
