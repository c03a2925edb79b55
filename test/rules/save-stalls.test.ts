// A large rule set that is saved again and again: however long its history grows, no save blocks the event loop for long.

import { mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { ruleSetEtag } from "sluice/internal/rules"
import { fileRules, type RuleSetDocument, type RuleSourceWork } from "sluice/rules"
import { expect, it } from "vitest"
import { longestStall } from "../support/own-time.js"
import { rule, setOf } from "./rule-sets.js"

const MAX_STALL_MS = 50
const SAVES = 260
const SET_BYTES = 256 * 1024

/** The service reads and rewrites files in a thread. Here this takes no time that counts. */
const work: RuleSourceWork = {
  readText: async (text) => ({ document: JSON.parse(text), etag: ruleSetEtag(JSON.parse(text)) }),
  editText: async (_text, _before, after) => JSON.stringify(after),
  readRevision: async (text) => JSON.parse(text),
}

it(`${SAVES} saves of 256 KB do not block the event loop, neither where they are made nor where they are followed`, async () => {
  const folder = mkdtempSync(join(tmpdir(), "sluice-saves-"))
  const path = join(folder, "rules.json")
  writeFileSync(path, JSON.stringify(setOf()))
  const [source, follower] = [await fileRules(path, { work }), await fileRules(path, { work })]
  try {
    const rules = largeSet().rules
    const slow: string[] = []
    for (let save = 1; save <= SAVES; save++) {
      const document = setOf(rule("first", save), ...rules)
      // The control plane checks a set and works out its etag in a thread, too.
      const options = { by: "editor", isChecked: true, etag: ruleSetEtag(document) }
      const { stallMs } = await longestStall(async () => {
        await source.save(document, options)
        if (save % 10 === 0) await follower.reload?.()
      })
      if (stallMs >= MAX_STALL_MS) slow.push(`save ${save}: ${stallMs} ms`)
    }
    expect(slow).toEqual([])
    expect((await follower.revisions()).map(({ revision }) => revision)).toEqual(
      Array.from({ length: 100 }, (_, i) => SAVES + 1 - i),
    )
    expect(readdirSync(folder)).toHaveLength(3)
  } finally {
    await Promise.all([source.close(), follower.close()])
    rmSync(folder, { recursive: true })
  }
}, 120_000)

function largeSet(): RuleSetDocument {
  const rules = Array.from({ length: SET_BYTES / 64 }, (_, i) => rule(`rule-${i}`))
  while (JSON.stringify(setOf(...rules)).length > SET_BYTES) rules.pop()
  return setOf(...rules)
}
