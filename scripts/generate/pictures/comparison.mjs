// The picture that compares all algorithms on the same twenty minutes of bursts: how many requests each allowed in the last
// 60 s, drawn over what the exact log allowed.

import { passTimes, run, staircase, worstWindow } from "./measure.mjs"
import { fill, line, picture, round, tag, text, through } from "./svg.mjs"
import { BOUNDARY, BURSTY_MINUTES, burstyTraffic, LIMIT } from "./traffic.mjs"

const width = 880
const left = 76
const right = width - 28
const firstTop = 118
const panelHeight = 74
const panelStep = 116
const max = 210
const seconds = BURSTY_MINUTES * 60
const end = BOUNDARY + seconds * 1000

/**
 * @param {readonly { title: string, choice: import("./measure.mjs").Choice }[]} algorithms
 * @returns {string} the SVG
 */
export function comparisonPicture(algorithms) {
  const times = burstyTraffic()
  const exact = passTimes(run({ algorithm: "sliding-window-log" }, times))
  const height = firstTop + (algorithms.length + 1) * panelStep + 12
  const summary = `${LIMIT} per 60 s · ${times.length} requests in ${BURSTY_MINUTES} minutes, most of them in bursts`
  const parts = [
    text(24, 36, "The same traffic through every algorithm", "ink", { "font-size": 18, "font-weight": 600 }),
    text(24, 57, summary, "muted", { "font-size": 13 }),
    ...legend(),
    ...trafficPanel(times),
    tag("defs", {}, tag("path", { id: "exact", d: areaUnder(exact) })),
  ]
  algorithms.forEach(({ title, choice }, i) => {
    const passes = passTimes(run(choice, times))
    parts.push(algorithmPanel(firstTop + (i + 1) * panelStep, title, passes))
  })
  parts.push(...timeAxis(height))
  const description = `${summary}. One panel per algorithm shows how many requests it let through in the last 60 s.`
  return picture({ width, height, title: "The same traffic through every algorithm", description }, parts)
}

function legend() {
  const y = 80
  const entries = /** @type {const} */ ([
    ["calm", "let through in the last 60 s", 0],
    ["over", "more than the limit", 210],
    ["held", "less than the exact log", 366],
  ])
  return [
    ...entries.flatMap(([ink, label, at]) => [
      tag("rect", { x: 24 + at, y: y - 10, width: 11, height: 11, rx: 2, ...fill(ink) }),
      text(24 + at + 17, y, label, "ink"),
    ]),
    line(570, y - 4, 592, y - 4, "ink", { "stroke-dasharray": "5 4" }),
    text(598, y, `limit ${LIMIT}`, "ink"),
  ]
}

/** @param {number[]} times */
function trafficPanel(times) {
  const bin = 5
  const counts = new Map()
  for (const time of times) {
    const index = Math.floor((time - BOUNDARY) / (bin * 1000))
    counts.set(index, (counts.get(index) ?? 0) + 1)
  }
  const highest = Math.ceil(Math.max(...counts.values()) / 20) * 20
  const bottom = firstTop + panelHeight
  const y = (/** @type {number} */ count) => bottom - (count / highest) * panelHeight
  const parts = [
    text(left, firstTop - 8, `requests that arrive, per ${bin} s`, "ink", { "font-weight": 600 }),
  ]
  for (const tick of [0, highest])
    parts.push(line(left, y(tick), right, y(tick), "grid"), tickLabel(y(tick), `${tick}`))
  for (const [index, count] of counts) {
    const x0 = xAt(BOUNDARY + index * bin * 1000)
    const x1 = xAt(BOUNDARY + (index + 1) * bin * 1000)
    parts.push(
      tag("rect", { x: x0, y: y(count), width: x1 - x0 - 0.6, height: bottom - y(count), ...fill("muted") }),
    )
  }
  return parts
}

/**
 * A panel draws in its own coordinates, so that the exact log's area is written once and used in all.
 *
 * @param {number} top
 * @param {string} title
 * @param {number[]} passes
 */
function algorithmPanel(top, title, passes) {
  const worst = worstWindow(passes).total
  const over = worst > LIMIT
  const verdict = `busiest 60 s: ${worst}${over ? `, ${worst - LIMIT} over the limit` : ""}`
  const parts = [
    text(left, -8, title, "ink", { "font-weight": 600 }),
    text(right, -8, verdict, over ? "over" : "ink", { "text-anchor": "end", "font-weight": 600 }),
    ...[0, 200].flatMap((tick) => [
      line(left, yOf(tick), right, yOf(tick), "grid"),
      tickLabel(yOf(tick), `${tick}`),
    ]),
    tickLabel(yOf(LIMIT), `${LIMIT}`, "ink"),
    // Drawn behind the curve, so that it shows where the exact log allowed more.
    tag("use", { href: "#exact", ...fill("held") }),
    tag("path", { d: areaUnder(passes), ...fill("calm") }),
    tag("path", { d: areaUnder(passes, LIMIT), ...fill("over") }),
    line(left, yOf(LIMIT), right, yOf(LIMIT), "ink", { "stroke-dasharray": "5 4" }),
  ]
  return tag("g", { transform: `translate(0 ${top})` }, parts.join("\n"))
}

/** @param {number} height */
function timeAxis(height) {
  const y = height - panelStep + panelHeight - 12
  const parts = [text((left + right) / 2, height - 16, "minutes", "muted", { "text-anchor": "middle" })]
  for (let minute = 0; minute <= BURSTY_MINUTES; minute += 2) {
    const x = xAt(BOUNDARY + minute * 60_000)
    parts.push(
      line(x, y, x, y + 5, "muted"),
      text(x, y + 18, `${minute}`, "muted", { "text-anchor": "middle" }),
    )
  }
  return parts
}

/** @param {number} y @param {string} label @param {import("./svg.mjs").Ink} [ink] */
function tickLabel(y, label, ink = "muted") {
  return text(left - 8, y + 4, label, ink, { "text-anchor": "end" })
}

/** The area between the curve and `base`, in panel coordinates. @param {number[]} times */
function areaUnder(times, base = 0) {
  /** @type {[number, number][]} */
  const points = []
  for (const [second, total] of highestPerSecond(times)) {
    const x = left + (second / seconds) * (right - left)
    const y = yOf(Math.max(total, base))
    const last = points.at(-1)
    // A horizontal line needs only its end points.
    if (last !== undefined && last[1] === y && points.at(-2)?.[1] === y) points.pop()
    points.push([x, y])
  }
  return `${through(points)}V${round(yOf(base))}H${left}Z`
}

/** The highest point of the step function in each second. @param {number[]} times @returns {Map<number, number>} */
function highestPerSecond(times) {
  const highest = new Map()
  let level = 0
  let next = 0
  const stairs = staircase(times, BOUNDARY, end)
  for (let second = 0; second <= seconds; second++) {
    let top = level
    for (; next < stairs.length && stairs[next][0] < BOUNDARY + (second + 1) * 1000; next++) {
      level = stairs[next][1]
      top = Math.max(top, level)
    }
    highest.set(second, top)
  }
  return highest
}

/** @param {number} total */
function yOf(total) {
  return panelHeight - (total / max) * panelHeight
}

/** @param {number} time milliseconds since 1970 */
function xAt(time) {
  return left + ((time - BOUNDARY) / (end - BOUNDARY)) * (right - left)
}
