// Child process: what a key costs in memory, for one contender.

import { answer, collectGarbage } from "../harness/child.mjs"
import { timeCalls, turn } from "../harness/measure.mjs"
import { everydayTerms, keyOf } from "./cases.mjs"
import { contenderNamed } from "./contenders.mjs"

answer({
  async run(/** @type {{ contender: string, keys: number }} */ { contender, keys }) {
    const subject = await contenderNamed(contender).open({ ...everydayTerms, keys })
    // One-time objects and the young generation exist before the measurement: neither is a cost of keys.
    await subject.check("first")
    await timeCalls({ check: (key) => [key], isAllowed: () => true, awaited: false }, keyOf, 0, keys)
    const before = await settledMemory()
    await timeCalls(subject, keyOf, 0, keys)
    const after = await settledMemory()
    // The limiter must still be in use here, or its keys may be collected.
    await subject.check("last")
    return { bytesPerKey: (after.own - before.own) / keys, rssPerKey: (after.rss - before.rss) / keys }
  },
})

/** Memory after the collector has done all it can. Typed arrays are in `external`. */
async function settledMemory() {
  for (let i = 0; i < 3; i++) {
    collectGarbage()
    await turn()
  }
  const { heapUsed, external, rss } = process.memoryUsage()
  return { own: heapUsed + external, rss }
}
