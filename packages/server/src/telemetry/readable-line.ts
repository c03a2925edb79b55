/** Fields that stand in front, or say nothing to somebody at the terminal where the service runs. */
const LEADING: readonly string[] = ["level", "time", "pid", "msg"]

/**
 * A line of the log for somebody at a terminal: `10:15:02 warn  the store did not answer  reason=timeout`. What a client has
 * sent is quoted wherever it could be taken for something else, so it can neither forge a line nor move the cursor.
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

/** Our own words, and still no control characters. */
function text(words: string): string {
  return escaped(words.replace(/\s+/g, " "))
}

function escaped(words: string): string {
  return words.replace(
    /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu,
    (character) => `\\u${(character.codePointAt(0) as number).toString(16).padStart(4, "0")}`,
  )
}
