// SVG paths in pixels for the charts of the playground.

import type { RefObject } from "preact"
import { useEffect, useRef, useState } from "preact/hooks"
import { SLOTS, type Span } from "./traffic.js"

/** One bar per slot, on top of `below`. Slots without requests have no bar. */
export function barsPath(
  counts: readonly number[],
  { width, height, max, below }: { width: number; height: number; max: number; below?: readonly number[] },
): string {
  const step = width / SLOTS
  const gap = step > 4 ? 1 : 0
  return counts
    .map((count, slot) => {
      if (count === 0) return ""
      const from = height - ((below?.[slot] ?? 0) / max) * height
      const to = from - (count / max) * height
      return `M${round(slot * step)} ${round(from)}V${round(to)}h${round(step - gap)}V${round(from)}Z`
    })
    .join("")
}

/** The area between `base` and a stepped line above it. */
export function areaPath(
  values: readonly number[],
  { width, height, max, base = 0 }: { width: number; height: number; max: number; base?: number },
): string {
  const step = width / SLOTS
  const y = (value: number) => round(height - (Math.max(base, value) / max) * height)
  const stairs = values.map((value, slot) => `V${y(value)}H${round((slot + 1) * step)}`).join("")
  return `M0 ${y(base)}${stairs}V${y(base)}Z`
}

/** The x coordinate of a time, in milliseconds from the start of the span. */
export function xOf(ms: number, width: number, { length }: Span): number {
  return round((ms / length) * width)
}

function round(value: number): number {
  return Math.round(value * 10) / 10
}

/** The width of an element in pixels. Drawing in pixels keeps lines sharp and letters at their size. */
export function useWidth<Element extends HTMLElement>(): [RefObject<Element | null>, number] {
  const element = useRef<Element>(null)
  const [width, setWidth] = useState(0)
  useEffect(() => {
    const found = element.current
    if (found === null) return
    const sized = new ResizeObserver(() => setWidth(found.clientWidth))
    sized.observe(found)
    return () => sized.disconnect()
  }, [])
  return [element, width]
}
