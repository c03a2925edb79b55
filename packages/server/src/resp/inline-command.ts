// Inline commands, as typed into telnet: words separated by spaces, with the quotes and escapes of redis-cli.

const SPACES = " \t\r\n\0\v\f"
const ESCAPES: Readonly<Record<string, string>> = { n: "\n", r: "\r", t: "\t", b: "\b", a: "\x07" }

/** Splits a line into words, one character per byte. Undefined when a quote is not closed or closes inside a word. */
export function splitInline(line: string): string[] | undefined {
  const words: string[] = []
  let at = 0
  for (;;) {
    while (at < line.length && SPACES.includes(line[at] as string)) at++
    if (at >= line.length) return words
    let word = ""
    while (at < line.length && !SPACES.includes(line[at] as string)) {
      const quote = line[at]
      if (quote !== '"' && quote !== "'") {
        word += line[at++]
        continue
      }
      const quoted = quote === '"' ? doubleQuoted(line, at + 1) : singleQuoted(line, at + 1)
      if (quoted === undefined) return undefined
      word += quoted.text
      at = quoted.next
      if (at < line.length && !SPACES.includes(line[at] as string)) return undefined
    }
    words.push(word)
  }
}

interface Quoted {
  readonly text: string
  /** Index after the closing quote. */
  readonly next: number
}

function doubleQuoted(line: string, start: number): Quoted | undefined {
  let text = ""
  for (let at = start; at < line.length; at++) {
    const character = line[at] as string
    if (character === '"') return { text, next: at + 1 }
    if (character !== "\\" || at + 1 >= line.length) {
      text += character
      continue
    }
    const hex = /^x([0-9a-f]{2})/i.exec(line.slice(at + 1, at + 4))?.[1]
    if (hex !== undefined) {
      text += String.fromCharCode(Number.parseInt(hex, 16))
      at += 3
    } else {
      const escaped = line[++at] as string
      text += ESCAPES[escaped] ?? escaped
    }
  }
  return undefined
}

function singleQuoted(line: string, start: number): Quoted | undefined {
  let text = ""
  for (let at = start; at < line.length; at++) {
    if (line[at] === "'") return { text, next: at + 1 }
    if (line[at] === "\\" && line[at + 1] === "'") at++
    text += line[at]
  }
  return undefined
}
