// Writes plain values as YAML, in the style of the documentation: small maps and lists on one line, others on several.

/** A map or list that would make a line longer than this goes on several lines. */
const WIDTH = 100

/** YAML that parses to the same value. It ends with a line end. */
export function writeYaml(value: unknown): string {
  const isInLines = isNested(value) && sizeOf(value) > 0
  return `${isInLines ? linesOf(value, 0).join("\n") : flow(value)}\n`
}

function linesOf(value: Nested, indent: number): string[] {
  const pad = " ".repeat(indent)
  if (Array.isArray(value)) {
    return value.flatMap((item: unknown) => {
      const inline = oneLine(item, indent + 2)
      if (inline !== undefined) return [`${pad}- ${inline}`]
      const [first = "", ...rest] = linesOf(item as Nested, indent + 2)
      return [`${pad}- ${first.trimStart()}`, ...rest]
    })
  }
  return entriesOf(value).flatMap(([name, item]) => {
    const key = scalar(name, false)
    const inline = oneLine(item, indent + key.length + 2)
    if (inline !== undefined) return [`${pad}${key}: ${inline}`]
    return [`${pad}${key}:`, ...linesOf(item as Nested, indent + 2)]
  })
}

/** The value on one line, or undefined if it reads better on several, such as a list of several maps. */
function oneLine(value: unknown, column: number): string | undefined {
  if (!isNested(value)) return scalar(value, false)
  const isFlat = depthOf(value) <= 1 || (Array.isArray(value) && value.length === 1 && depthOf(value) <= 2)
  const text = flow(value)
  return sizeOf(value) === 0 || (isFlat && column + text.length <= WIDTH) ? text : undefined
}

function flow(value: unknown): string {
  if (!isNested(value)) return scalar(value, true)
  if (Array.isArray(value)) return `[${value.map(flow).join(", ")}]`
  const entries = entriesOf(value)
  if (entries.length === 0) return "{}"
  return `{ ${entries.map(([name, item]) => `${scalar(name, true)}: ${flow(item)}`).join(", ")} }`
}

/** Text that needs no quotes. The pattern is stricter than YAML. */
const PLAIN = /^[\p{L}/](?:[\p{L}\p{N}/_.,*@()+'!?;=-]|:(?![\s,[\]{}]|$)| (?![ #:]|$))*$/u
const NOT_TEXT = /^(?:true|false|null|yes|no|on|off|y|n)$/i

function scalar(value: unknown, inFlow: boolean): string {
  if (typeof value !== "string") return JSON.stringify(value) ?? "null"
  // `mode: off` is text in YAML 1.2, which the service reads. Only YAML 1.1 reads it as false.
  const isWord = value === "off" || !NOT_TEXT.test(value)
  const isPlain = PLAIN.test(value) && isWord && !(inFlow && value.includes(","))
  if (isPlain || isDuration(value)) return value
  return JSON.stringify(value)
}

/** `15m` and `100ms` need no quotes: YAML does not read them as numbers. */
function isDuration(value: string): boolean {
  return /^\d+(?:ms|s|m|h|d)$/.test(value)
}

type Nested = readonly unknown[] | Readonly<Record<string, unknown>>

function isNested(value: unknown): value is Nested {
  return typeof value === "object" && value !== null
}

function entriesOf(value: Nested): [string, unknown][] {
  return Object.entries(value).filter(([, item]) => item !== undefined)
}

function sizeOf(value: Nested): number {
  return Array.isArray(value) ? value.length : entriesOf(value).length
}

function depthOf(value: unknown): number {
  if (!isNested(value)) return 0
  return 1 + Math.max(0, ...Object.values(value).map(depthOf))
}
