// Child process: filling one exact log. Each check has a microsecond of its own, because checks of the same instant share
// an entry and would make it look cheap.

import { createLimiter, memoryStore } from "sluice"
import { answer } from "../harness/child.mjs"

/** How often a log is filled before it counts as warm. */
const WARM_UP = 20

answer({
  run(/** @type {{ checks: number }} */ { checks }) {
    const coldMs = timeFilling(checks)
    for (let i = 0; i < WARM_UP; i++) timeFilling(checks)
    return { coldMs, warmMs: timeFilling(checks) }
  },
})

/** @param {number} checks */
function timeFilling(checks) {
  let now = Date.now()
  const store = memoryStore({ clock: { now: () => (now += 0.001) } })
  const limiter = createLimiter({ algorithm: "sliding-window-log", limit: checks, window: "1m", store })
  let allowed = 0
  const started = performance.now()
  for (let i = 0; i < checks; i++) if (limiter.checkSync("user:1").allowed) allowed++
  const ms = performance.now() - started
  const oneMore = limiter.checkSync("user:1").allowed
  if (allowed !== checks || oneMore)
    throw new Error(`${allowed} of ${checks} allowed, then one more: ${oneMore}`)
  return ms
}
