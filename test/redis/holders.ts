// Processes that acquire and release on one Redis while others of them are killed.

import { type ChildProcess, spawn } from "node:child_process"
import { once } from "node:events"
import { fileURLToPath } from "node:url"
import { createLimiter } from "sluice"
import { connectRedis } from "sluice/redis"
import { expect, it } from "vitest"
import { afterThis } from "../support/after-this.js"
import { eventually } from "../support/eventually.js"
import { PATIENT } from "./contract.js"

const program = fileURLToPath(new URL("./fixtures/holder.mjs", import.meta.url))
const LIMIT = 3
const HOLD_MS = 1_500
const KEYS = 3
/** Holders that run at a time, and how many are killed and replaced. */
const HOLDERS = 3
const KILLS = 2
/** So many holds before each kill. */
const HOLDS_BEFORE_KILL = 60

/** A time in which a holder relies on its hold, in microseconds. */
interface Interval {
  readonly key: string
  readonly units: number
  readonly from: number
  readonly to: number
}

class Holder {
  readonly process: ChildProcess
  #said = ""

  constructor(url: string, name: string, seed: number) {
    const job = { url, name, seed, limit: LIMIT, hold: HOLD_MS, keys: KEYS }
    this.process = spawn(process.execPath, [program, JSON.stringify(job)], {
      stdio: ["ignore", "pipe", "inherit"],
    })
    this.process.stdout?.on("data", (chunk) => {
      this.#said += chunk
    })
    afterThis(() => this.process.kill("SIGKILL"))
  }

  get holds(): number {
    return this.#said.split("\nA ").length
  }

  async kill(): Promise<void> {
    const closed = once(this.process, "close")
    this.process.kill("SIGKILL")
    await closed
  }

  /**
   * What was held, once the process has ended. A hold that the kill interrupted lasts for its whole length: the store counts it
   * from a moment after the process had asked. No holder may rely on its hold for longer.
   */
  get intervals(): Interval[] {
    const lines = this.#said.split("\n").slice(0, -1)
    const ends = new Map(
      lines.filter((line) => line.startsWith("R")).map((line) => line.split(" ").slice(1)) as never,
    )
    return lines
      .filter((line) => line.startsWith("A"))
      .map((line) => {
        const [, count, key, units, asked, from] = line.split(" ") as string[]
        const end = Number(asked) + HOLD_MS * 1_000
        const released = Number(ends.get(count) ?? end)
        return { key: key as string, units: Number(units), from: Number(from), to: Math.min(released, end) }
      })
      .filter(({ from, to }) => from < to)
  }
}

/** The most units that were held at a time. */
function most(intervals: readonly Interval[]): number {
  const changes = intervals
    .flatMap(({ units, from, to }) => [
      { at: from, units },
      { at: to, units: -units },
    ])
    .sort((a, b) => a.at - b.at || a.units - b.units)
  let held = 0
  let largest = 0
  for (const { units } of changes) {
    held += units
    largest = Math.max(largest, held)
  }
  return largest
}

/** Tests that a fleet never holds more than the limit, and that what killed processes held comes back. */
export function describeHolders(topology: string, url: () => string): void {
  it(`processes on ${topology} never hold more than the limit, whoever is killed, and all places come back`, async () => {
    const name = `holders-${process.hrtime.bigint()}`
    let started = 0
    const start = () => new Holder(url(), name, ++started)
    const running = Array.from({ length: HOLDERS }, start)
    const all = [...running]
    for (let i = 0; i < KILLS; i++) {
      const victim = running[i % HOLDERS] as Holder
      const enough = victim.holds + HOLDS_BEFORE_KILL
      await eventually(() => victim.holds >= enough, { within: 60_000, what: `${enough} holds` })
      await victim.kill()
      running[i % HOLDERS] = start()
      all.push(running[i % HOLDERS] as Holder)
    }
    const last = all.at(-1) as Holder
    await eventually(() => last.holds >= HOLDS_BEFORE_KILL, { within: 60_000, what: "holds of the last" })
    await Promise.all(running.map((holder) => holder.kill()))
    const intervals = all.flatMap((holder) => holder.intervals)
    const mosts = Array.from({ length: KEYS }, (_, key) =>
      most(intervals.filter((held) => held.key === `${key}`)),
    )
    // The busiest key reaches the limit, and none exceeds it.
    expect(Math.max(...mosts)).toBe(LIMIT)

    const store = await connectRedis(url(), PATIENT)
    afterThis(() => store.close())
    const limiter = createLimiter({ store, name, algorithm: "concurrency", limit: LIMIT, hold: HOLD_MS })
    for (let key = 0; key < KEYS; key++) {
      await eventually(async () => {
        const { remaining, degraded } = await limiter.peek(`key ${key}`)
        return degraded === undefined && remaining === LIMIT
      })
    }
  }, 120_000)
}
