// Child process: the longest single check while a table grows from nothing, which is where a hash table would stop to
// rehash. The same loop around an empty call shows how much of that is the machine and the collector.

import { createLimiter, memoryStore } from "sluice"
import { answer, collectGarbage } from "../harness/child.mjs"
import { turn } from "../harness/measure.mjs"
import { keyOf } from "./cases.mjs"

const CALLS_PER_TURN = 10_000

answer({
  async run(/** @type {{ algorithm: import("sluice").AlgorithmName, keys: number }} */ { algorithm, keys }) {
    const store = memoryStore({ maxKeys: keys })
    const limiter = createLimiter({ algorithm, limit: 100, window: "1d", store })
    const control = await longestCall(keys, (key) => key.length)
    collectGarbage()
    let worstBytesPerKey = 0
    const longest = await longestCall(
      keys,
      (key) => limiter.checkSync(key),
      (made) => {
        // Below that, any cost of a key is small.
        if (made >= 100_000)
          worstBytesPerKey = Math.max(worstBytesPerKey, store.stats.bytes / store.stats.keys)
      },
    )
    if (store.stats.keys !== keys) throw new Error(`${store.stats.keys} keys held instead of ${keys}`)
    return { longestMs: longest, controlMs: control, worstBytesPerKey }
  },
})

/**
 * @param {number} keys
 * @param {(key: string) => unknown} call
 * @param {(made: number) => void} [afterTurn]
 */
async function longestCall(keys, call, afterTurn = () => {}) {
  let longest = 0n
  for (let i = 0; i < keys; i++) {
    const key = keyOf(i)
    const started = process.hrtime.bigint()
    call(key)
    const took = process.hrtime.bigint() - started
    if (took > longest) longest = took
    if (i % CALLS_PER_TURN === 0) {
      await turn()
      afterTurn(i + 1)
    }
  }
  return Number(longest) / 1e6
}
