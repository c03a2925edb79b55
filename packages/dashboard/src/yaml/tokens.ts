// YAML as the parts an editor shows and completes: good enough for text that somebody is in the middle of typing. What the
// text means is for the service to say.

export type TokenKind =
  /** `- ` of a list. */
  | "dash"
  /** The name of a field, without its colon. */
  | "key"
  | "colon"
  /** `{`, `[`, `}`, `]` and the commas between them. */
  | "open"
  | "close"
  | "comma"
  /** Text, in quotes or without. */
  | "text"
  /** A number, true, false or null. */
  | "literal"
  /** `|`, `>`, `&name`, `*name`, `!tag`, `---`. */
  | "mark"
  /** A line of text below a `|` or `>`. */
  | "block"
  | "comment"

export interface Token {
  readonly kind: TokenKind
  readonly start: number
  readonly end: number
  /** Columns before it in its line. */
  readonly column: number
}

const QUOTED = /"(?:[^"\\\n]|\\.)*(?:"|$)|'(?:[^'\n]|'')*(?:'|$)/my
/** A name and, behind it, the colon that makes it one. */
const PLAIN_KEY = /[^\s#&*!|>%@`"'{}[\],-](?:[^#:\n,{}[\]]|:(?!\s|$)|(?<!\s)#)*?(?=[ \t]*:(?:\s|$))/my
const QUOTED_KEY = /(?:"(?:[^"\\\n]|\\.)*"|'(?:[^'\n]|'')*')(?=[ \t]*:(?:\s|$))/my
const BLOCK_TEXT = /(?:[^\n#:]|:(?!\s|$)|(?<=\S)#)+/my
const FLOW_TEXT = /(?:[^\n#:,{}[\]]|:(?![\s,{}[\]]|$)|(?<=\S)#)+/my
const COMMENT = /#[^\n]*/y
const DASH = /-(?=\s|$)/my
const MARK = /[|>][-+0-9]*(?=[ \t]*(?:#.*)?$)|[&*][^\s,{}[\]]+|![^\s,{}[\]]*|^(?:---|\.\.\.)(?=\s|$)/my
const LITERAL = /^(?:true|false|null|~|[-+]?(?:\d[\d_]*\.?\d*|\.\d+)(?:e[-+]?\d+)?)$/i

/** Cuts text into its tokens, in order. Spaces and line ends lie between them. */
export function tokensOf(text: string): Token[] {
  const tokens: Token[] = []
  let depth = 0
  let at = 0
  /** The column of the field or dash that a `|` stands behind; what is indented deeper belongs to it. */
  let blockParent: number | undefined
  while (at < text.length) {
    const lineEnd = endOfLine(text, at)
    const lineStart = at
    const indent = indentAt(text, at)
    if (blockParent !== undefined && (indent > blockParent || text.slice(at, lineEnd).trim() === "")) {
      if (lineStart + indent < lineEnd)
        tokens.push({ kind: "block", start: at + indent, end: lineEnd, column: indent })
      at = lineEnd + 1
      continue
    }
    blockParent = undefined
    at += indent
    let parent = indent
    while (at < lineEnd) {
      if (text[at] === " " || text[at] === "\t" || text[at] === "\r") {
        at++
        continue
      }
      const token = tokenAt(text, at, depth > 0, tokens.at(-1), lineStart)
      tokens.push(token)
      at = token.end
      if (token.kind === "open") depth++
      else if (token.kind === "close") depth = Math.max(0, depth - 1)
      else if (token.kind === "key") parent = token.column
      else if (token.kind === "mark" && /^[|>]/.test(text.slice(token.start, token.end))) blockParent = parent
    }
    at = lineEnd + 1
  }
  return tokens
}

function tokenAt(
  text: string,
  start: number,
  inFlow: boolean,
  before: Token | undefined,
  lineStart: number,
): Token {
  const token = (kind: TokenKind, end: number): Token => ({ kind, start, end, column: start - lineStart })
  const match = (pattern: RegExp): number | undefined => {
    pattern.lastIndex = start
    return pattern.test(text) ? pattern.lastIndex : undefined
  }
  const char = text[start] as string
  const comment = char === "#" ? match(COMMENT) : undefined
  if (comment !== undefined) return token("comment", comment)
  if (char === "{" || char === "[") return token("open", start + 1)
  if (inFlow && (char === "}" || char === "]")) return token("close", start + 1)
  if (inFlow && char === ",") return token("comma", start + 1)
  if (char === ":" && before?.kind === "key") return token("colon", start + 1)
  const startsEntry =
    before === undefined ||
    before.start < lineStart ||
    before.kind === "dash" ||
    (inFlow && before.kind !== "colon")
  const dash = !inFlow && startsEntry ? match(DASH) : undefined
  if (dash !== undefined) return token("dash", dash)
  const mark = match(MARK)
  if (mark !== undefined) return token("mark", mark)
  const key = startsEntry ? (match(QUOTED_KEY) ?? match(PLAIN_KEY)) : undefined
  if (key !== undefined) return token("key", key)
  const quoted = match(QUOTED)
  if (quoted !== undefined) return token("text", quoted)
  const end = match(inFlow ? FLOW_TEXT : BLOCK_TEXT) ?? start + 1
  const value = text.slice(start, end).trimEnd()
  return token(LITERAL.test(value) ? "literal" : "text", start + Math.max(1, value.length))
}

function endOfLine(text: string, at: number): number {
  const end = text.indexOf("\n", at)
  return end === -1 ? text.length : end
}

function indentAt(text: string, at: number): number {
  let end = at
  while (text[end] === " ") end++
  return end - at
}
