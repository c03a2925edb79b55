// The picture of concurrency: requests that hold two places, one of them by a process that crashes. Decided by the library.

import { createRuleEngine } from "sluice/rules"
import { ManualClock } from "sluice/testing"
import { fill, line, picture, tag, text } from "./svg.mjs"

const LIMIT = 2
const HOLD = 30
const width = 880
const height = 292
const left = 110
const right = width - 28
const seconds = 60
const top = 84
const rowHeight = 20

/** When requests begin and how long they work, in seconds. The one that never ends crashes. */
const requests = [
  { at: 0, takes: 12 },
  { at: 4, takes: 6 },
  { at: 7, takes: 5 },
  { at: 11, takes: Number.POSITIVE_INFINITY },
  { at: 14, takes: 10 },
  { at: 20, takes: 8 },
  { at: 25, takes: 18 },
  { at: 36, takes: 5 },
  { at: 42, takes: 10 },
]

/** @returns {string} the SVG */
export function concurrencyPicture() {
  const decided = decide()
  const denied = decided.filter(({ allowed }) => !allowed).length
  const description = `${requests.length} requests under a limit of ${LIMIT} at once. ${denied} arrive while ${LIMIT} are running and are denied. One process crashes: its place comes back ${HOLD} s after it was acquired.`
  return picture({ width, height, title: "concurrency", description }, [
    text(24, 36, `algorithm: "concurrency", limit: ${LIMIT}, hold: "${HOLD}s"`, "ink", {
      "font-size": 18,
      "font-weight": 600,
    }),
    text(
      24,
      57,
      "each line is a request: blue while it runs, yellow while the place of a crashed process is held, a cross if denied",
      "muted",
      { "font-size": 13 },
    ),
    ...axis(),
    ...decided.flatMap(row),
  ])
}

/** Asks the library about each request in the order of time, and releases those that have ended. */
function decide() {
  const clock = new ManualClock()
  const start = clock.now()
  const limits = [{ algorithm: /** @type {const} */ ("concurrency"), limit: LIMIT, hold: `${HOLD}s` }]
  const engine = createRuleEngine({
    rules: { version: 1, rules: [{ id: "calls", keyBy: "global", limits }] },
    clock,
  })
  /** @type {{ endsAt: number, decision: import("sluice/rules").RuleDecision }[]} */
  const running = []
  const decided = requests.map(({ at, takes }) => {
    for (const { endsAt, decision } of running.splice(0).sort((a, b) => a.endsAt - b.endsAt)) {
      if (endsAt > at) running.push({ endsAt, decision })
      else {
        clock.set(start + endsAt * 1_000)
        void engine.release(decision)
      }
    }
    clock.set(start + at * 1_000)
    const decision = engine.checkSync({ method: "GET", path: "/" })
    if (decision.allowed) running.push({ endsAt: at + takes, decision })
    return { at, takes, allowed: decision.allowed, retryAfter: decision.retryAfterMs / 1_000 }
  })
  void engine.close()
  return decided
}

/** @param {number} second */
function x(second) {
  return left + (second / seconds) * (right - left)
}

/** @param {{ at: number, takes: number, allowed: boolean, retryAfter: number }} request @param {number} i */
function row({ at, takes, allowed, retryAfter }, i) {
  const y = top + i * rowHeight
  const label = text(24, y + 11, `request ${i + 1}`, "muted")
  if (!allowed) {
    const cross = [
      line(x(at), y + 2, x(at) + 10, y + 12, "over", { "stroke-width": 2 }),
      line(x(at), y + 12, x(at) + 10, y + 2, "over", { "stroke-width": 2 }),
    ]
    return [label, ...cross, text(x(at) + 18, y + 11, `denied, retry within ${retryAfter} s`, "muted")]
  }
  const hasCrashed = takes === Number.POSITIVE_INFINITY
  const bar = tag("rect", {
    x: x(at),
    y,
    width: x(at + (hasCrashed ? HOLD : takes)) - x(at),
    height: 14,
    rx: 3,
    ...fill(hasCrashed ? "held" : "pass"),
  })
  if (!hasCrashed) return [label, bar]
  return [label, bar, text(x(at) + 6, y + 11, `crashed: free again after ${HOLD} s`, "ink")]
}

function axis() {
  const bottom = top + requests.length * rowHeight
  const ticks = Array.from({ length: seconds / 10 + 1 }, (_, i) => i * 10)
  return ticks.flatMap((second) => [
    line(x(second), top - 6, x(second), bottom, "grid"),
    text(x(second), bottom + 16, `${second} s`, "muted", { "text-anchor": "middle" }),
  ])
}
