// The picture of one algorithm: what it allows when a client uses its whole limit before and after a window boundary.

import { passTimes, run, staircase, worstWindow } from "./measure.mjs"
import { fill, fillAndStroke, line, picture, stairs, stroke, tag, text } from "./svg.mjs"
import { BOUNDARY, BOUNDARY_VIEW, boundaryTraffic, LIMIT, WINDOW_MS } from "./traffic.mjs"

const width = 880
const height = 460
const left = 76
const right = width - 28
const bars = { top: 106, bottom: 230, most: 22 }
const totals = { top: 280, bottom: 404, most: 240 }

/**
 * @param {string} title
 * @param {import("./measure.mjs").Choice} choice
 * @returns {string} the SVG
 */
export function boundaryPicture(title, choice) {
  const outcomes = run(choice, boundaryTraffic())
  const held = choice.overflow === "queue"
  const arrives = outcomes.map((outcome) => outcome.at)
  const admitted = outcomes.filter((outcome) => outcome.allowed)
  const passes = passTimes(outcomes)
  const worst = worstWindow(passes)
  const verb = held ? "leave" : "pass"
  const longest = Math.max(...admitted.map((outcome) => outcome.leavesAt - outcome.at)) / 1000
  const summary =
    `${LIMIT} per 60 s · ${arrives.length} requests arrive, ${admitted.length} are admitted` +
    (held ? ` and held for up to ${longest.toFixed(1)} s` : "")
  return picture(
    {
      width,
      height,
      title: `${title} around a window boundary`,
      description: `${summary}. In the busiest 60 s, ${worst.total} ${verb}.`,
    },
    [
      text(24, 36, title, "ink", { "font-size": 18, "font-weight": 600 }),
      text(24, 57, summary, "muted", { "font-size": 13 }),
      ...legend(held ? "leaves" : "admitted", held ? "arrives" : "denied"),
      ...barPanel(arrives, passes),
      ...boundaryMarks(),
      ...totalPanel(passes, worst, verb),
      ...timeAxis(),
    ],
  )
}

/** @param {string} passed @param {string} other */
function legend(passed, other) {
  const y = 36
  const otherX = right - 60
  const passedX = otherX - 92
  return [
    tag("rect", { x: passedX, y: y - 10, width: 11, height: 11, rx: 2, ...fill("pass") }),
    text(passedX + 17, y, passed, "ink"),
    tag("rect", { x: otherX, y: y - 10, width: 11, height: 11, rx: 2, ...fill("deny") }),
    text(otherX + 17, y, other, "ink"),
  ]
}

/** @param {number[]} arrives @param {number[]} passes */
function barPanel(arrives, passes) {
  const y = scale(bars)
  const parts = [text(24, bars.top - 14, "requests per second", "muted")]
  for (const tick of [0, 10, 20]) {
    parts.push(line(left, y(tick), right, y(tick), "grid"), tickLabel(y(tick), String(tick)))
  }
  for (const [times, ink] of /** @type {const} */ ([
    [arrives, "deny"],
    [passes, "pass"],
  ])) {
    for (const [second, count] of perSecond(times)) {
      const x0 = xOf(second) + 0.75
      const x1 = xOf(second + 1) - 0.75
      parts.push(tag("rect", { x: x0, y: y(count), width: x1 - x0, height: y(0) - y(count), ...fill(ink) }))
    }
  }
  return parts
}

/** @param {number[]} passes @param {{ at: number, total: number }} worst @param {string} verb */
function totalPanel(passes, worst, verb) {
  const y = scale(totals)
  const [from, to] = [BOUNDARY_VIEW.from, BOUNDARY_VIEW.to].map((second) => BOUNDARY + second * 1000)
  const curve = stairs(staircase(passes, from, to).map(([at, total]) => [xAt(at), y(total)]))
  const area = tag("path", { id: "area", d: `${curve}V${y(0)}H${left}Z` })
  const over = worst.total > LIMIT
  const worstX = xAt(worst.at)
  const ratio = worst.total / LIMIT
  const times = over ? `, ${Number.isInteger(ratio) ? ratio : ratio.toFixed(2)} × the limit` : ""
  return [
    text(24, totals.top - 14, `${verb === "leave" ? "left" : "admitted"} in the last 60 s`, "muted"),
    line(left, y(0), right, y(0), "grid"),
    line(left, y(200), right, y(200), "grid"),
    tickLabel(y(0), "0"),
    tickLabel(y(LIMIT), `limit ${LIMIT}`, "ink"),
    tickLabel(y(200), "200"),
    clip("over", y(totals.most), y(LIMIT)),
    clip("within", y(LIMIT), y(0)),
    tag("defs", {}, area),
    tag("use", { href: "#area", ...fill("pass"), "fill-opacity": 0.22, "clip-path": "url(#within)" }),
    tag("use", { href: "#area", ...fill("over"), "fill-opacity": 0.32, "clip-path": "url(#over)" }),
    tag("path", { d: curve, fill: "none", ...stroke("pass"), "stroke-width": 1.75 }),
    line(left, y(LIMIT), right, y(LIMIT), "ink", { "stroke-dasharray": "5 4" }),
    tag("circle", { cx: worstX, cy: y(worst.total), r: 4, ...fillAndStroke(over ? "over" : "pass", "page") }),
    callout(worstX, y(worst.total) - 10, `busiest 60 s: ${worst.total}${times}`, over ? "over" : "ink"),
  ]
}

/** A label that starts at `x` if there is room, with an outline that separates it from lines behind it. */
function callout(
  /** @type {number} */ x,
  /** @type {number} */ y,
  /** @type {string} */ label,
  /** @type {import("./svg.mjs").Ink} */ ink,
) {
  // Wide fonts need 8.3 px per character at this size.
  const start = Math.min(x + 2, right - label.length * 8.3)
  return text(start, y, label, ink, {
    ...fillAndStroke(ink, "page"),
    "stroke-width": 4,
    "stroke-linejoin": "round",
    "paint-order": "stroke",
    "font-size": 13,
    "font-weight": 600,
  })
}

function boundaryMarks() {
  return [0, WINDOW_MS / 1000].flatMap((second) => {
    const x = xOf(second)
    return [
      line(x, bars.top - 6, x, totals.bottom, "mark", { "stroke-width": 1.5, "stroke-dasharray": "2 3" }),
      text(x, bars.top - 14, "window boundary", "mark", { "text-anchor": "middle", "font-weight": 600 }),
    ]
  })
}

function timeAxis() {
  const parts = [
    text((left + right) / 2, height - 16, "seconds from the boundary", "muted", { "text-anchor": "middle" }),
  ]
  for (let s = Math.ceil(BOUNDARY_VIEW.from / 20) * 20; s <= BOUNDARY_VIEW.to; s += 20) {
    const x = xOf(s)
    parts.push(line(x, totals.bottom, x, totals.bottom + 5, "muted"))
    const label = s > 0 ? `+${s}` : s < 0 ? `−${-s}` : "0"
    parts.push(text(x, totals.bottom + 19, label, "muted", { "text-anchor": "middle" }))
  }
  return parts
}

/** @param {number} y @param {string} label @param {import("./svg.mjs").Ink} [ink] */
function tickLabel(y, label, ink = "muted") {
  return text(left - 8, y + 4, label, ink, { "text-anchor": "end" })
}

/** @param {string} id @param {number} top @param {number} bottom */
function clip(id, top, bottom) {
  const area = tag("rect", { x: left, y: top, width: right - left, height: bottom - top })
  return tag("clipPath", { id }, area)
}

/** @param {number} second */
function xOf(second) {
  const { from, to } = BOUNDARY_VIEW
  return left + ((second - from) / (to - from)) * (right - left)
}

/** @param {number} time milliseconds since 1970 */
function xAt(time) {
  return xOf((time - BOUNDARY) / 1000)
}

/** @param {{ top: number, bottom: number, most: number }} panel */
function scale({ top, bottom, most }) {
  return (/** @type {number} */ value) => bottom - (value / most) * (bottom - top)
}

/** @param {number[]} times @returns {Map<number, number>} */
function perSecond(times) {
  const counts = new Map()
  for (const time of times) {
    const second = Math.floor((time - BOUNDARY) / 1000)
    if (second < BOUNDARY_VIEW.to) counts.set(second, (counts.get(second) ?? 0) + 1)
  }
  return counts
}
