// What a lease that is spent late lets through at once, without and with the margin. The numbers are those of the library.

import { createLimiter } from "sluice"
import { ManualClock } from "sluice/testing"
import { fill, picture, tag } from "./svg.mjs"

const LIMIT = 100
const HELD = 40
const LENGTH_MS = 100
const WIDTH = 560
const LEFT = 190
const SCALE = 3

export function leasesPicture() {
  const rows = [
    { title: "without a margin", free: freeAfterLease(false) },
    { title: "as Sluice leases", free: freeAfterLease(true) },
  ]
  const bars = rows.flatMap(({ title, free }, i) => {
    const y = 60 + i * 62
    const total = HELD + free
    const over = total - LIMIT
    return [
      tag("text", { x: 16, y: y + 20, ...fill("ink") }, title),
      bar(0, HELD, y, "held"),
      bar(HELD, Math.min(free, LIMIT - HELD), y, "pass"),
      ...(over > 0 ? [bar(LIMIT, over, y, "over")] : []),
      tag(
        "text",
        { x: LEFT + total * SCALE + 8, y: y + 20, ...fill(over > 0 ? "over" : "muted") },
        `${total}${over > 0 ? `, ${over} too many` : ""}`,
      ),
    ]
  })
  const description = `A bucket of ${LIMIT} that refills ${LIMIT} a second. An instance takes a lease of ${HELD} units and spends them ${LENGTH_MS} ms later, in the same moment in which others take all that the store has: ${rows.map(({ title, free }) => `${HELD + free} at once ${title}`).join(", ")}.`
  return picture({ width: WIDTH, height: 190, title: "A lease that is spent late", description }, [
    tag(
      "text",
      { x: 16, y: 28, "font-weight": 600, ...fill("ink") },
      `Admitted at once, ${LENGTH_MS} ms after a lease was taken (burst ${LIMIT})`,
    ),
    ...bars,
    tag("line", {
      x1: LEFT + LIMIT * SCALE,
      x2: LEFT + LIMIT * SCALE,
      y1: 48,
      y2: 162,
      stroke: "#8250df",
      class: "s-mark",
    }),
    tag("text", { x: LEFT, y: 180, ...fill("muted") }, "yellow: from the lease · blue: from the store"),
  ])
}

/**
 * @param {number} from
 * @param {number} units
 * @param {number} y
 * @param {"held" | "pass" | "over"} ink
 */
function bar(from, units, y, ink) {
  return tag("rect", { x: LEFT + from * SCALE, y, width: units * SCALE, height: 30, ...fill(ink) })
}

/**
 * What the store still admits when a lease has become old.
 * @param {boolean} hasMargin
 */
function freeAfterLease(hasMargin) {
  const clock = new ManualClock()
  // A limiter in memory decides with the margin as well, but refuses a clock of its own: the burst is what the margin leaves.
  const margin = hasMargin ? (LIMIT * LENGTH_MS) / 1_000 : 0
  const limiter = createLimiter({
    algorithm: "token-bucket",
    limit: LIMIT,
    window: "1s",
    burst: LIMIT - margin,
    clock,
  })
  limiter.checkSync("key", { cost: HELD })
  clock.advance(LENGTH_MS)
  const free = limiter.checkSync("key", { cost: 0 }).remaining
  void limiter.close()
  return free
}
