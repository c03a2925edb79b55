// A light reading of PromQL: not a parser of the whole language, but enough to notice a bracket that is not closed, a
// function that does not exist, and to know which metrics and labels an expression asks for.

export interface Query {
  readonly metrics: readonly string[]
  /** Labels by the metric that they select of. */
  readonly matchers: readonly { readonly metric: string; readonly label: string; readonly value: string }[]
  /** Labels that are grouped by. */
  readonly groupings: readonly string[]
}

const FUNCTIONS = new Set([
  "rate",
  "changes",
  "histogram_quantile",
  "time",
  "vector",
  "sum",
  "max",
  "min",
  "count",
])
const GROUPING = new Set(["by", "ignoring", "group_left"])
const OPERATORS = new Set(["and", "or"])
/** What each of these takes has to be a range: `[5m]`. */
const OVER_RANGES = new Set(["rate", "changes"])

const TOKEN =
  /\s+|"(?:[^"\\]|\\.)*"|\[[^\]]*\]|[a-zA-Z_:][\w:]*|\d+(?:\.\d+)?|=~|!~|!=|==|>=|<=|[-+*/%^<>={}(),]/y
const RANGE = /^\[(?:\d+(?:ms|s|m|h|d)|\$__rate_interval)\]$/
const CLOSED_BY: Readonly<Record<string, string>> = { "(": ")", "{": "}" }

/** Throws where an expression cannot be right. */
export function readQuery(expression: string): Query {
  const tokens = tokensOf(expression)
  const query = {
    metrics: [] as string[],
    matchers: [] as Query["matchers"][number][],
    groupings: [] as string[],
  }
  const open: string[] = []
  const callers: string[] = []
  for (let i = 0; i < tokens.length; i++) {
    const token = tokens[i] as string
    const next = tokens[i + 1]
    const wrong = (why: string) => new Error(`${why}, at "${token}" of: ${expression}`)
    if (token === "(" || token === "{") {
      open.push(CLOSED_BY[token] as string)
      callers.push(token === "(" ? (tokens[i - 1] ?? "") : "{")
    } else if (token === ")" || token === "}") {
      if (open.pop() !== token) throw wrong("a bracket does not fit")
      callers.pop()
    } else if (token.startsWith("[")) {
      if (!RANGE.test(token)) throw wrong("not a range")
      if (!OVER_RANGES.has(callers.at(-1) ?? "")) throw wrong("a range that no function takes")
    } else if (/^[a-zA-Z_:]/.test(token)) {
      if (callers.at(-1) === "{") {
        if (!/^(=|!=|=~|!~)$/.test(next ?? "") || !tokens[i + 2]?.startsWith('"'))
          throw wrong("not a matcher")
        query.matchers.push({
          metric: query.metrics.at(-1) as string,
          label: token,
          value: JSON.parse(tokens[i + 2] as string),
        })
      } else if (GROUPING.has(callers.at(-1) ?? "")) query.groupings.push(token)
      else if (GROUPING.has(token) || FUNCTIONS.has(token)) {
        if (next !== "(" && !GROUPING.has(next ?? "")) throw wrong("something in brackets has to follow")
      } else if (next === "(") throw wrong("no such function")
      else if (!OPERATORS.has(token)) {
        query.metrics.push(token)
        const after = next === "{" ? tokens[tokens.indexOf("}", i) + 1] : next
        if (OVER_RANGES.has(callers.at(-1) ?? "") && !after?.startsWith("["))
          throw wrong("a range has to follow")
      }
    }
  }
  if (open.length > 0) throw new Error(`"${open.at(-1)}" is missing in: ${expression}`)
  return query
}

function tokensOf(expression: string): string[] {
  const tokens: string[] = []
  TOKEN.lastIndex = 0
  for (let at = 0; at < expression.length; at = TOKEN.lastIndex) {
    TOKEN.lastIndex = at
    const token = TOKEN.exec(expression)?.[0]
    if (token === undefined) throw new Error(`cannot read "${expression.slice(at)}" of: ${expression}`)
    if (token.trim() !== "") tokens.push(token)
  }
  return tokens
}
