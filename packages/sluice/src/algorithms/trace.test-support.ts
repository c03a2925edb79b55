// A trace is a table of timed requests with the answers they must get. Times are milliseconds, exact to a microsecond;
// time 0 is a midnight, so that every ordinary window starts there.
//
//   at      ask        answer  remaining  retry  reset
//   0       1          yes     1          0      1000      a check of cost 1
//   0       3          no      1          never  1000      a check that can never pass
//   10      refund=1   yes     2          0      0         a refund, then what a peek (cost 0) says
//   20      limit=5    yes     5          0      0         the limit changes on the live key, then a peek
//
// The retry of a peek is the wait until one unit passes.
//
// Options are set as `limit=`, `window=`, `burst=`, `maxBurst=`. A seventh column, `delay`, is there when the header
// names it.

import { expect } from "vitest"
import type { LimitOptions } from "../policy.js"
import { compilePolicy } from "../policy.js"
import type { Verdict } from "./algorithm.js"
import { Key } from "./key.test-support.js"

export const MIDNIGHT = Date.UTC(2024, 0, 1)

/** Plays the trace on a new key and compares it, line by line, with what really happened. */
export function expectTrace(options: LimitOptions, table: string): void {
  const [header, ...rows] = parse(table)
  expect(header?.slice(0, 6)).toEqual(["at", "ask", "answer", "remaining", "retry", "reset"])
  const columns = header?.length ?? 0
  const player = new Player(options)
  const played = rows.map((row) => player.play(row[0] ?? "", row[1] ?? "").slice(0, columns))
  expect(render(played)).toEqual(render(rows))
}

/** One key in milliseconds from midnight, for what a table cannot say. */
export class Player {
  readonly key: Key
  #options: LimitOptions

  constructor(options: LimitOptions) {
    this.#options = options
    this.key = new Key(compilePolicy(options, "trace"))
  }

  check(at: number, cost = 1): Verdict {
    return this.key.check(cost, micros(at))
  }

  peek(at: number): Verdict {
    return this.key.decide(0, micros(at))
  }

  /** Charges without asking. */
  charge(at: number, cost: number): void {
    this.key.charge(cost, micros(at))
  }

  refund(at: number, cost: number): void {
    this.key.refund(cost, micros(at))
  }

  /** Another limit, window or burst from now on. The state stays. */
  change(options: Partial<LimitOptions>): void {
    this.#options = { ...this.#options, ...options }
    this.key.policy = compilePolicy(this.#options, "trace")
  }

  play(atText: string, ask: string): string[] {
    const at = Number(atText)
    const [name, value] = ask.split("=") as [string, string?]
    let verdict: Verdict
    if (value === undefined) {
      verdict = this.check(at, Number(name))
    } else {
      if (name === "refund") this.refund(at, Number(value))
      else this.change({ [name]: name === "window" ? value : Number(value) })
      verdict = this.peek(at)
    }
    const { allowed, remaining, retryAfter, resetAfter, delay } = verdict
    const waits = [retryAfter, resetAfter, delay].map(showWait)
    return [atText, ask, allowed ? "yes" : "no", String(remaining), waits[0], waits[1], waits[2]] as string[]
  }
}

export function micros(at: number): number {
  return MIDNIGHT * 1000 + Math.round(at * 1000)
}

function showWait(wait: number): string {
  return wait === Number.POSITIVE_INFINITY ? "never" : String(wait / 1000)
}

function parse(table: string): string[][] {
  const lines = table.split("\n").map((line) => line.replace(/\/\/.*/, "").trim())
  return lines.filter((line) => line !== "").map((line) => line.split(/\s+/))
}

function render(rows: string[][]): string[] {
  return rows.map((row) => row.map((cell) => cell.padEnd(10)).join(" "))
}
