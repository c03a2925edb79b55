// The traffic as bars, which the user draws with a pointer or the keyboard.

import { useId, useRef, useState } from "preact/hooks"
import { barsPath, useWidth, xOf } from "./drawing.js"
import { localTime, type PlaygroundText, sketchText, timeText } from "./texts.js"
import { drawnBetween, SLOTS, spanOf, type Terms } from "./traffic.js"

export interface SketchProps {
  readonly counts: readonly number[]
  readonly terms: Terms
  /** The highest count that can be drawn. */
  readonly max: number
  readonly onDraw: (counts: number[]) => void
  readonly text: PlaygroundText
}

const HEIGHT = 112
/** How far each key moves the slot and the count. */
const KEYS: Readonly<Record<string, readonly [number, number]>> = {
  ArrowLeft: [-1, 0],
  ArrowRight: [1, 0],
  ArrowUp: [0, 1],
  ArrowDown: [0, -1],
  PageUp: [0, 5],
  PageDown: [0, -5],
  Home: [-SLOTS, 0],
  End: [SLOTS, 0],
}

export function Sketch({ counts, terms, max, onDraw, text }: SketchProps) {
  const [place, width] = useWidth<HTMLDivElement>()
  const hint = useId()
  const last = useRef<{ slot: number; count: number } | undefined>(undefined)
  const [slot, setSlot] = useState(0)

  const under = (event: PointerEvent) => {
    const { left, top } = (event.currentTarget as HTMLElement).getBoundingClientRect()
    const found = Math.floor(((event.clientX - left) / width) * SLOTS)
    const count = Math.round((1 - (event.clientY - top) / HEIGHT) * max)
    return { slot: clamp(found, SLOTS - 1), count: clamp(count, max) }
  }
  const start = (event: PointerEvent) => {
    if (event.button !== 0) return
    ;(event.currentTarget as HTMLElement).setPointerCapture(event.pointerId)
    last.current = under(event)
    draw(event)
  }
  const draw = (event: PointerEvent) => {
    const from = last.current
    if (from === undefined) return
    const to = under(event)
    last.current = to
    setSlot(to.slot)
    onDraw(drawnBetween(counts, from, to))
  }
  const end = () => {
    last.current = undefined
  }
  const press = (event: KeyboardEvent) => {
    const moved = KEYS[event.key]
    if (moved === undefined) return
    event.preventDefault()
    const to = clamp(slot + moved[0], SLOTS - 1)
    const count = clamp((counts[to] ?? 0) + moved[1], max)
    setSlot(to)
    if (moved[1] !== 0) onDraw(drawnBetween(counts, { slot: to, count }, { slot: to, count }))
  }

  const count = counts[slot] ?? 0
  const step = width / SLOTS
  const span = spanOf(terms)
  return (
    <div class="playground-sketch">
      <div
        ref={place}
        class="playground-canvas"
        role="slider"
        tabIndex={0}
        aria-label={sketchText(text, terms)}
        aria-describedby={hint}
        aria-orientation="vertical"
        aria-valuemin={0}
        aria-valuemax={max}
        aria-valuenow={count}
        aria-valuetext={text.slot(timeText(text, terms, slot * span.slotMs), count)}
        onPointerDown={start}
        onPointerMove={draw}
        onPointerUp={end}
        onPointerCancel={end}
        onKeyDown={press}
      >
        <svg width={width} height={HEIGHT} aria-hidden="true">
          <rect class="chosen" x={slot * step} y={0} width={step} height={HEIGHT} />
          {terms.calendar !== undefined &&
            span.boundaries.map((boundary) => {
              const x = xOf(boundary, width, span)
              return <line key={x} class="edge" x1={x} x2={x} y1={0} y2={HEIGHT} />
            })}
          <path class="asked" d={barsPath(counts, { width, height: HEIGHT, max })} />
        </svg>
      </div>
      <TimeAxis width={width} terms={terms} />
      <p class="hint soft" id={hint}>
        {text.sketchHint}
      </p>
    </div>
  )
}

/** A label every ten seconds, or at each boundary of the calendar. */
export function TimeAxis({ width, terms }: { readonly width: number; readonly terms: Terms }) {
  const { calendar } = terms
  const span = spanOf(terms)
  const marks =
    calendar === undefined
      ? [0, 10, 20, 30, 40, 50, 60].map((second) => ({ at: second * 1000, label: `${second} s` }))
      : [calendar.start, calendar.boundary, calendar.end].map((time) => ({
          at: time - span.start,
          label: localTime(calendar, time),
        }))
  return (
    <svg class="playground-axis" width={width} height={18} aria-hidden="true">
      {marks.map(({ at, label }) => (
        <text
          key={at}
          x={xOf(at, width, span)}
          y={13}
          text-anchor={at === 0 ? "start" : at === span.length ? "end" : "middle"}
        >
          {label}
        </text>
      ))}
    </svg>
  )
}

function clamp(value: number, max: number): number {
  return Math.min(max, Math.max(0, value))
}
