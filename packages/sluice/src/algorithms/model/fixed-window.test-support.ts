import type { Model, Terms } from "./model.test-support.js"
import { max } from "./model.test-support.js"

interface Window {
  readonly start: bigint
  readonly length: bigint
  readonly count: bigint
}

export const fixedWindowModel: Model<Window> = {
  settle(terms, state, now) {
    if (state === undefined || state.count === 0n) return windowAt(terms, now, 0n)
    // Written by a clock that was wrong: as if charged now.
    if (state.start - now > terms.window) return windowAt(terms, now, state.count)
    const t = max(now, state.start)
    if (t >= state.start + state.length) return windowAt(terms, now, 0n)
    if (state.length === terms.window && terms.windowAt === undefined) return state
    // The contract asks for no free reset and no wait longer than the new window. The code's choice: the units move into
    // the window of the new length, which with first-request keeps its start while that is recent enough.
    if (terms.anchored && t - state.start < terms.window) return { ...state, length: terms.window }
    return windowAt(terms, t, state.count)
  },
  used: (_terms, state) => state.count,
  fits: (terms, state, cost) => state.count + cost <= terms.limit,
  add: (_terms, state, cost) => ({ ...state, count: state.count + cost }),
  take: (_terms, state, cost) => ({ ...state, count: max(0n, state.count - cost) }),
}

function windowAt(terms: Terms, time: bigint, count: bigint): Window {
  if (terms.windowAt !== undefined) {
    const [start, end] = terms.windowAt(time)
    return { start, length: end - start, count }
  }
  const start = terms.anchored ? time : (time / terms.window) * terms.window
  return { start, length: terms.window, count }
}
