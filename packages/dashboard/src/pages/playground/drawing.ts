// What a lane draws, as paths in pixels.

import type { RefObject } from "preact"
import { useEffect, useRef, useState } from "preact/hooks"
import { SECONDS, SLOTS } from "./traffic.js"

/** Bars from `base` upwards, one per slot; those of nothing are left out. */
export function barsPath(
  counts: readonly number[],
  { width, height, most, below }: { width: number; height: number; most: number; below?: readonly number[] },
): string {
  const step = width / SLOTS
  const gap = step > 4 ? 1 : 0
  return counts
    .map((count, slot) => {
      if (count === 0) return ""
      const from = height - ((below?.[slot] ?? 0) / most) * height
      const to = from - (count / most) * height
      return `M${round(slot * step)} ${round(from)}V${round(to)}h${round(step - gap)}V${round(from)}Z`
    })
    .join("")
}

/** The area under a staircase, from `base` upwards: nothing where it does not reach that far. */
export function areaPath(
  values: readonly number[],
  { width, height, most, base = 0 }: { width: number; height: number; most: number; base?: number },
): string {
  const step = width / SLOTS
  const y = (value: number) => round(height - (Math.max(base, value) / most) * height)
  const stairs = values.map((value, slot) => `V${y(value)}H${round((slot + 1) * step)}`).join("")
  return `M0 ${y(base)}${stairs}V${y(base)}Z`
}

/** Where a moment of the minute is, in pixels. */
export function xOf(ms: number, width: number): number {
  return round((ms / 1000 / SECONDS) * width)
}

function round(value: number): number {
  return Math.round(value * 10) / 10
}

/** How wide an element is: what is drawn in pixels stays sharp, and its letters keep their size. */
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
