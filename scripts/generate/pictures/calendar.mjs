// The picture of calendar windows: the days of a week in which the clocks change, measured with the library.

import { createLimiter } from "sluice"
import { ManualClock } from "sluice/testing"
import { fill, line, picture, tag, text } from "./svg.mjs"

const HOUR = 3_600_000
const width = 880
const height = 250
const left = 90
const right = width - 28
const zones = ["UTC", "Europe/Berlin"]
const start = Date.UTC(2026, 9, 23, 12)
const hours = 96

/** @returns {string} the SVG */
export function calendarPicture() {
  const rows = zones.map((timeZone, i) => row(timeZone, 96 + i * 64))
  return picture(
    {
      width,
      height,
      title: "Days of a calendar when the clocks go back",
      description: "In UTC each day has 24 hours. In Berlin 25 October 2026 has 25 hours.",
    },
    [
      text(24, 36, 'window: "day"', "ink", { "font-size": 18, "font-weight": 600 }),
      text(24, 57, "the days around 25 October 2026, when clocks in Berlin go back by an hour", "muted", {
        "font-size": 13,
      }),
      ...rows.flat(),
      ...axis(),
    ],
  )
}

/** The boundaries of the days in a time zone, as a limiter tells them. @param {string} timeZone */
function boundaries(timeZone) {
  const clock = new ManualClock(start)
  const limiter = createLimiter({ algorithm: "fixed-window", limit: 1, window: "day", timeZone, clock })
  const found = []
  while (clock.now() < start + hours * HOUR) {
    const { resetAfterMs } = limiter.checkSync("key")
    clock.advance(resetAfterMs)
    found.push(clock.now())
  }
  return found
}

/** @param {number} time */
function x(time) {
  return left + ((time - start) / (hours * HOUR)) * (right - left)
}

/** @param {string} timeZone @param {number} y */
function row(timeZone, y) {
  const days = boundaries(timeZone)
  return [
    text(24, y + 22, timeZone === "UTC" ? "UTC" : "Berlin", "ink"),
    ...days.slice(0, -1).flatMap((day, i) => {
      const next = /** @type {number} */ (days[i + 1])
      const end = Math.min(next, start + hours * HOUR)
      const length = (next - day) / HOUR
      return [
        tag("rect", {
          x: x(day) + 1,
          y,
          width: x(end) - x(day) - 2,
          height: 34,
          rx: 4,
          ...fill(length === 24 ? "calm" : "held"),
        }),
        ...(end === next
          ? [text((x(day) + x(end)) / 2, y + 22, `${length} h`, "ink", { "text-anchor": "middle" })]
          : []),
      ]
    }),
  ]
}

function axis() {
  const y = height - 34
  const marks = []
  for (let hour = 12; hour <= hours; hour += 24) {
    const time = start + hour * HOUR
    marks.push(line(x(time), 88, x(time), y, "grid"))
    marks.push(
      text(x(time), y + 18, `${new Date(time).getUTCDate()} Oct 00:00 UTC`, "muted", {
        "text-anchor": "middle",
      }),
    )
  }
  return marks
}
