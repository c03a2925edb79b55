// Plain values as YAML, the way the documentation writes rules: small maps and lists in one line, the rest in lines.

/** Lines are not made longer than this by putting a map or list into one. */
const WIDTH = 100

/** YAML that reads back as the same value. Ends with a line end. */
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

/** A value in one line, if it is one that reads well there: no lists of maps, unless they have one entry. */
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

/** Text that YAML takes for text without quotes. Rather too few than too many. */
const PLAIN = /^[\p{L}/](?:[\p{L}\p{N}/_.,*@()+'!?;=-]|:(?![\s,[\]{}]|$)| (?![ #:]|$))*$/u
const NOT_TEXT = /^(?:true|false|null|yes|no|on|off|y|n)$/i

function scalar(value: unknown, inFlow: boolean): string {
  if (typeof value !== "string") return JSON.stringify(value) ?? "null"
  // `mode: off` is text to YAML 1.2, which the service reads; only older readers take it for false.
  const isWord = value === "off" || !NOT_TEXT.test(value)
  const isPlain = PLAIN.test(value) && isWord && !(inFlow && value.includes(","))
  if (isPlain || isDuration(value)) return value
  return JSON.stringify(value)
}

/** `15m` and `100ms` are text as they stand. Nothing that could be a number is. */
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
