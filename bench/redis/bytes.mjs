// Child process: what a key costs in the server's memory, for one contender.

import { answer } from "../harness/child.mjs"
import { everydayTerms, keyOf, MANY } from "./cases.mjs"
import { contenderNamed, openIoredis } from "./contenders.mjs"
import { load } from "./load.mjs"

const SAMPLED = 100
const BEFORE = "warm"

/**
 * @typedef {object} Bytes
 * @property {number} perKey        MEMORY USAGE, mean
 * @property {number} grownPerKey   how much used_memory grew per client: the tables of Redis included
 * @property {number} keysPerClient
 * @property {string} key           one as it is stored
 */

answer({
  /** @returns {Promise<Bytes>} */
  async run(/** @type {import("./timing.mjs").Opening} */ { contender, address }) {
    const subject = await contenderNamed(contender).open(everydayTerms, address)
    const admin = await openIoredis(address)
    await admin.flushdb()
    // Scripts, connection buffers and other one-time costs exist before the measurement, so they do not count for keys.
    await load(subject, (i) => `${BEFORE}:${i}`, { inFlight: 64, checks: MANY })
    await admin.flushdb()
    const before = await usedMemory(admin)
    await load(subject, keyOf, { inFlight: 64, checks: MANY })
    const after = await usedMemory(admin)
    const stored = await storedKeys(admin)
    const sampled = stored.slice(0, SAMPLED)
    const sizes = await Promise.all(sampled.map(async (key) => Number(await admin.memory("USAGE", key))))
    return {
      perKey: sizes.reduce((sum, size) => sum + size, 0) / sizes.length,
      grownPerKey: (after - before) / MANY,
      keysPerClient: stored.length / MANY,
      key: stored[0],
    }
  },
})

/** @param {import("ioredis").Redis} admin */
async function usedMemory(admin) {
  return Number(/^used_memory:(\d+)/m.exec(await admin.info("memory"))?.[1])
}

/**
 * Those of clients, which name one.
 * @param {import("ioredis").Redis} admin
 */
async function storedKeys(admin) {
  /** @type {string[]} */
  const keys = []
  for await (const some of admin.scanStream({ count: 1_000, match: "*user:*" })) keys.push(...some)
  return [...new Set(keys)].sort()
}
