// `npm run test:peers`: what redis-cell and throttlecrab answer today to the commands in replies.txt, against what is recorded
// there. `npm run test:peers -- --record` writes the file anew, with other commands for another seed. Needs cargo; npm test
// only reads the file.

import { spawnSync } from "node:child_process"
import { readFileSync, writeFileSync } from "node:fs"
import { fileURLToPath } from "node:url"
import { orExplain } from "../../scripts/bootstrap.mjs"
import { ensureTool } from "../../scripts/tools/ensure.mjs"

const SEED = 20_261_116
const COMMANDS = 8_000
const FIRST_MS = 1_767_225_600_000
const file = fileURLToPath(new URL("replies.txt", import.meta.url))

/** @typedef {{ burst: number, count: number, period: number }} Policy */
/** @typedef {{ ms: number, policy: number, key: string, quantity: number, hasIdled: boolean }} Command */

/** Numbers from 0 up to 1, the same for the same seed (mulberry32). @param {number} seed */
function randomOf(seed) {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}

/** Commands at explicit times, on keys of which each has one limit. @param {number} seed */
function commandsOf(seed) {
  const random = randomOf(seed)
  const below = (/** @type {number} */ most) => Math.floor(random() * most)
  /** @type {Policy[]} */
  const policies = []
  while (policies.length < 24) {
    const [burst, count, period] = [below(30), 1 + below(100), [1, 2, 10, 60, 3600][below(5)] ?? 1]
    // redis-cell rounds the time between two requests down to nanoseconds; where it is a whole number nothing is rounded.
    if ((period * 1_000_000) % count === 0) policies.push({ burst, count, period })
  }
  /** @type {Command[]} */
  const commands = []
  /** By policy: how many keys it has had, when the last of them is as if never used, and whether that has been so before. */
  const keys = policies.map(() => ({ number: 0, freeAt: Number.NaN, hasIdled: false }))
  for (let ms = FIRST_MS; commands.length < COMMANDS; ) {
    const policy = below(policies.length)
    const { burst, count, period } = policies[policy]
    const key = keys[policy]
    // Bursts at one moment, waits about as long as a request takes to be forgotten, and seldom a long one.
    const interval = (period * 1000) / count
    if (random() < 0.3) ms += Math.round(random() * (random() < 0.05 ? 20 : 1) * interval)
    const quantity = [1, 1, 1, 1, 0, 2, 1 + below(burst + 1), burst + 1, burst + 2][below(9)]
    if (ms > key.freeAt && random() < 0.8)
      Object.assign(key, { number: key.number + 1, freeAt: Number.NaN, hasIdled: false })
    else if (ms > key.freeAt) key.hasIdled = true
    const freeAt = Math.max(Number.isNaN(key.freeAt) ? ms : key.freeAt, ms) + interval * quantity
    if (freeAt - ms <= interval * (burst + 1)) key.freeAt = freeAt
    const { hasIdled } = key
    commands.push({ ms, policy, key: `${policy}.${key.number}`, quantity, hasIdled })
  }
  return { policies, commands }
}

/** Asks both. @param {Policy[]} policies @param {Command[]} commands */
function ask(policies, commands) {
  const input = commands.map(({ ms, policy, key, quantity }) => {
    const { burst, count, period } = policies[policy]
    return `${ms * 1000} k${key} ${burst} ${count} ${period} ${quantity}\n`
  })
  const { status, stdout, stderr } = spawnSync(ensureTool("cargo"), ["run", "--quiet", "--release"], {
    cwd: fileURLToPath(new URL("recorder", import.meta.url)),
    input: input.join(""),
    encoding: "utf8",
    maxBuffer: 2 ** 28,
  })
  if (status !== 0) throw new Error(`the recorder failed:\n${stderr}`)
  return stdout.trimEnd().split("\n")
}

function record() {
  const { policies, commands } = commandsOf(SEED)
  const replies = ask(policies, commands)
  const lines = [
    "# redis-cell 0.2.2 and throttlecrab 0.4.40 on the same commands: npm run test:peers -- --record",
    "# policy <number> <max_burst> <count> <period>",
    "# <ms since the line before> <policy>.<key> <quantity> | <limited> <remaining> <retry µs> <reset µs> | throttlecrab: =, or <limited> <remaining> <retry µs>",
    "# throttlecrab lets a key that nobody used save up for a second burst. From then on its answers are others, and not here: -",
    `start ${FIRST_MS}`,
    ...policies.map(({ burst, count, period }, policy) => `policy ${policy} ${burst} ${count} ${period}`),
  ]
  let before = FIRST_MS
  commands.forEach(({ ms, key, quantity, hasIdled }, i) => {
    const [limited, , remaining, retry, reset, crabLimited, , crabRemaining, crabRetry] =
      replies[i].split(" ")
    const own = `${limited} ${remaining} ${retry}`
    const crab = `${crabLimited} ${crabRemaining} ${crabRetry}`
    lines.push(
      `${ms - before} ${key} ${quantity} | ${own} ${reset} | ${hasIdled ? "-" : crab === own ? "=" : crab}`,
    )
    before = ms
  })
  return `${lines.join("\n")}\n`
}

const made = await orExplain(record)
if (process.argv.includes("--record")) {
  writeFileSync(file, made)
  console.log(`${COMMANDS} commands recorded in ${file}`)
} else if (readFileSync(file, "utf8") === made) {
  console.log(`redis-cell and throttlecrab answer ${COMMANDS} commands as recorded`)
} else {
  console.error(
    "redis-cell or throttlecrab answers otherwise than recorded: see git diff after npm run test:peers -- --record",
  )
  process.exitCode = 1
}
