import { readFileSync } from "node:fs"
import { dirname, resolve } from "node:path"
import { isMap, isNode, isPair, isScalar, isSeq, LineCounter, type Node, parseDocument } from "yaml"
import type { ConfigProblem } from "./setting.js"

export interface ConfigFile {
  readonly value: Record<string, unknown>
  readonly problems: readonly ConfigProblem[]
  /** `sluice.config.yaml:3:9` */
  placeOf(path: readonly PropertyKey[]): string
}

/** Stands for any name in a map. */
const EACH = "*"

/** Settings that name a file or folder. A relative path is relative to the configuration file. */
const PATHS = [
  ["store", "snapshot"],
  ["rules", "file"],
  ["rules", "redis", "lastGood"],
  ["control", "audit"],
  ["record", "file"],
  ["control", "dashboard"],
  ["gateway", "tls", "cert"],
  ["gateway", "tls", "key"],
  ["rules", "historyFile"],
  ["gateway", "accessLog", "file"],
  ["gateway", "upstreams", EACH, "tls", "ca"],
] as const

const MAX_BYTES = 1_048_576

/** Reads the configuration file. Undefined if there is none and `--config` names none. */
export function readConfigFile(path: string, isWanted: boolean): ConfigFile | undefined {
  const refused = (problems: readonly ConfigProblem[]): ConfigFile => ({
    value: {},
    problems,
    placeOf: () => path,
  })
  const problem = (message: string): ConfigFile => refused([{ place: path, path: "", message }])
  let text: string
  try {
    text = readFileSync(path, "utf8")
  } catch (error) {
    if (!isWanted && (error as NodeJS.ErrnoException).code === "ENOENT") return undefined
    return problem(`cannot be read: ${(error as Error).message}`)
  }
  if (text.length > MAX_BYTES) return problem(`must be at most ${MAX_BYTES} bytes`)
  const lines = new LineCounter()
  const document = parseDocument(text, { lineCounter: lines, prettyErrors: false })
  const placeAt = (offset: number) => {
    const { line, col } = lines.linePos(offset)
    return `${path}:${line}:${col}`
  }
  if (document.errors.length > 0)
    return refused(
      document.errors.map(({ pos, message }) => ({
        place: placeAt(pos[0]),
        path: "",
        message: named(message),
      })),
    )
  let value: unknown
  try {
    value = document.toJS({ maxAliasCount: 100 }) ?? {}
  } catch (error) {
    return problem(`cannot be read: ${named((error as Error).message)}`)
  }
  if (typeof value !== "object" || Array.isArray(value)) return problem("must be a map of settings")
  resolvePaths(value as Record<string, unknown>, dirname(resolve(path)))
  return {
    value: value as Record<string, unknown>,
    problems: [],
    placeOf: (at) => placeAt(offsetOf(document.contents, at)),
  }
}

/** The kind of a YAML mistake. The rest of the parser's message quotes the file, which may hold secrets. */
function named(message: string): string {
  return message.split(": ", 1)[0] as string
}

function resolvePaths(value: Record<string, unknown>, folder: string): void {
  for (const path of PATHS) {
    let holders: unknown[] = [value]
    for (const part of path.slice(0, -1)) holders = holders.flatMap((holder) => valuesAt(holder, part))
    const name = path.at(-1) as string
    for (const holder of holders as (Record<string, unknown> | null | undefined)[]) {
      const found = holder?.[name]
      if (typeof found === "string" && found !== "")
        (holder as Record<string, unknown>)[name] = resolve(folder, found)
    }
  }
}

function valuesAt(holder: unknown, part: string): unknown[] {
  if (typeof holder !== "object" || holder === null) return []
  return part === EACH ? Object.values(holder) : [(holder as Record<string, unknown>)[part]]
}

/** The position of a value, or of the map that lacks it. */
function offsetOf(root: Node | null, at: readonly PropertyKey[]): number {
  let node: unknown = root
  let offset = root?.range?.[0] ?? 0
  for (const part of at) {
    if (isMap(node)) {
      const pair = node.items.find((item) => isPair(item) && isScalar(item.key) && item.key.value === part)
      if (pair === undefined) return offset
      offset = (pair.key as Node).range?.[0] ?? offset
      node = pair.value
    } else if (isSeq(node)) {
      node = node.items[Number(part)]
      if (isNode(node)) offset = node.range?.[0] ?? offset
    } else return offset
  }
  return offset
}
