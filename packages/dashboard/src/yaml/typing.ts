// What an editor of YAML does by itself while somebody types: indenting.

export interface Edit {
  /** What of the text is replaced, and by what. */
  readonly start: number
  readonly end: number
  readonly text: string
  /** What is selected afterwards. */
  readonly selection: readonly [number, number]
}

const STEP = 2

/** A new line, as far in as what was begun: below `limits:` deeper, below `- limit: 5` in line with `limit`. */
export function newLine(text: string, start: number, end: number): Edit {
  const line = text.slice(lineStart(text, start), start)
  const [, spaces = "", dashes = "", rest = ""] = /^( *)((?:- +)*)(.*)$/.exec(line) ?? []
  const opens = /(?:^|\S):\s*(?:#.*)?$/.test(rest) || /[[{]\s*$/.test(rest)
  const indent = spaces.length + dashes.length + (opens ? STEP : 0)
  const inserted = `\n${" ".repeat(indent)}`
  const at = start + inserted.length
  return { start, end, text: inserted, selection: [at, at] }
}

/** Moves the selected lines in by a step; without a selection, goes on to the next step. */
export function indent(text: string, start: number, end: number): Edit {
  if (start === end) {
    const column = start - lineStart(text, start)
    const spaces = " ".repeat(STEP - (column % STEP))
    return { start, end, text: spaces, selection: [start + spaces.length, start + spaces.length] }
  }
  return changeLines(text, start, end, (line) => (line === "" ? line : " ".repeat(STEP) + line))
}

/** Moves the selected lines, or the one with the cursor, out by a step. */
export function outdent(text: string, start: number, end: number): Edit {
  return changeLines(text, start, end, (line) => line.replace(/^ {1,2}/, ""))
}

function changeLines(text: string, start: number, end: number, change: (line: string) => string): Edit {
  const from = lineStart(text, start)
  const next = text.indexOf("\n", Math.max(start, end - 1))
  const to = next === -1 ? text.length : next
  const before = text.slice(from, to)
  const lines = before.split("\n")
  const changed = lines.map(change)
  const after = changed.join("\n")
  const shift = (changed[0]?.length ?? 0) - (lines[0]?.length ?? 0)
  return {
    start: from,
    end: to,
    text: after,
    selection: [Math.max(from, start + shift), Math.max(from, end + after.length - before.length)],
  }
}

function lineStart(text: string, at: number): number {
  return text.lastIndexOf("\n", at - 1) + 1
}
