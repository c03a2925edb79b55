import { getOrAdd } from "../../get-or-add.js"
import { type Glob, matchesGlob } from "../language/value-pattern.js"

interface GlobEntry<Value> {
  readonly glob: Glob
  readonly value: Value
}

/**
 * Values by glob. A lookup tests only globs whose prefix or suffix the text has. Of `tenant-1-*`, `tenant-2-*` and ten thousand
 * more, these are few.
 */
export class GlobIndex<Value> {
  readonly #byPrefix = new AffixMap<GlobEntry<Value>>()
  readonly #bySuffix = new AffixMap<GlobEntry<Value>>()

  getOrAdd(glob: Glob, create: () => Value): Value {
    const samePrefix = this.#byPrefix.entriesOf(glob.prefix)
    const sameSuffix = this.#bySuffix.entriesOf(glob.suffix)
    const known = [...samePrefix, ...sameSuffix].find((entry) => entry.glob.text === glob.text)
    if (known !== undefined) return known.value
    const entry = { glob, value: create() }
    // The affix that fewer globs share leaves fewer globs to test.
    if (samePrefix.length <= sameSuffix.length) this.#byPrefix.add(glob.prefix, entry)
    else this.#bySuffix.add(glob.suffix, entry)
    return entry.value
  }

  /** The values of all globs that match the text. */
  find(text: string): Value[] {
    const found: Value[] = []
    for (const length of this.#byPrefix.lengths) {
      if (length > text.length) break
      addMatching(this.#byPrefix.entriesOf(text.slice(0, length)), text, found)
    }
    for (const length of this.#bySuffix.lengths) {
      if (length > text.length) break
      addMatching(this.#bySuffix.entriesOf(text.slice(text.length - length)), text, found)
    }
    return found
  }
}

function addMatching<Value>(entries: readonly GlobEntry<Value>[], text: string, found: Value[]): void {
  for (const { glob, value } of entries) if (matchesGlob(glob, text)) found.push(value)
}

/** Lists of entries by prefix or suffix. */
class AffixMap<Entry> {
  readonly #entries = new Map<string, Entry[]>()
  /** The different lengths of the affixes, in ascending order: at most as many as a glob has characters. */
  lengths: readonly number[] = []

  add(affix: string, entry: Entry): void {
    getOrAdd(this.#entries, affix, () => []).push(entry)
    if (!this.lengths.includes(affix.length))
      this.lengths = [...this.lengths, affix.length].sort((a, b) => a - b)
  }

  entriesOf(affix: string): readonly Entry[] {
    return this.#entries.get(affix) ?? []
  }
}
