// The charts of all algorithms below each other, and the time that all of them show.

import { useEffect, useRef, useState } from "preact/hooks"
import { Button } from "../../parts/button.js"
import { Swatch } from "../../parts/chart/sparkline.js"
import { AlgorithmChart } from "./algorithm-chart.js"
import { useWidth } from "./drawing.js"
import { decideAlike, type Outcome } from "./simulate.js"
import { TimeAxis } from "./sketch.js"
import { lengthText, type PlaygroundText, timeText } from "./texts.js"
import { spanOf, type Terms } from "./traffic.js"
import type { Variant } from "./variants.js"

export interface Run {
  readonly variant: Variant
  readonly outcome: Outcome
}

/** How long the time line plays. */
const PLAY_MS = 6_000

export function TimeLine({
  runs,
  terms,
  text,
}: {
  readonly runs: readonly Run[]
  readonly terms: Terms
  readonly text: PlaygroundText
}) {
  const [list, width] = useWidth<HTMLUListElement>()
  const { length, slotMs } = spanOf(terms)
  const { at, isPlaying, play, pause, moveTo } = usePlaying(length)
  useEffect(() => {
    const charts = list.current
    // A convenience for the mouse. The slider below does the same for everybody.
    const read = ({ clientX, pointerType }: PointerEvent) => {
      if (charts === null || pointerType !== "mouse") return
      const { left, width } = charts.getBoundingClientRect()
      moveTo(Math.min(length, Math.max(0, ((clientX - left) / width) * length)))
    }
    charts?.addEventListener("pointermove", read)
    return () => charts?.removeEventListener("pointermove", read)
  }, [length])
  const bars = runs.flatMap(({ outcome }) =>
    outcome.passed.map((count, i) => count + (outcome.denied[i] ?? 0)),
  )
  const max = Math.max(1, ...bars)
  const maxInWindow = 1.1 * Math.max(terms.limit, ...runs.map(({ outcome }) => outcome.busiest.total))
  return (
    <>
      <ul class="playground-legend">
        <li>
          <Swatch colour="--allowed" /> {text.through}
        </li>
        <li>
          <i class="playground-hatch" aria-hidden="true" /> {text.denied}
        </li>
        <li>
          <Swatch colour="--accent" /> {text.inWindow(lengthText(text, terms))}
        </li>
        <li>
          <Swatch colour="--denied" /> {text.overLimit}
        </li>
      </ul>
      {/* The patterns of all charts. */}
      <svg class="hidden" aria-hidden="true">
        <defs>
          <pattern
            id="hatch"
            width="5"
            height="5"
            patternUnits="userSpaceOnUse"
            patternTransform="rotate(45)"
          >
            <line x1="0" y1="0" x2="0" y2="5" />
          </pattern>
        </defs>
      </svg>
      {runs.length === 0 && <p class="soft">{text.nothingChosen}</p>}
      <ul class="playground-algorithms" ref={list}>
        {runs.map(({ variant, outcome }, i) => (
          <AlgorithmChart
            key={variant.id}
            {...{ variant, outcome, terms, max, maxInWindow, width, at, text }}
            alike={runs.slice(0, i).find((earlier) => decideAlike(earlier.outcome, outcome))?.variant.name}
          />
        ))}
      </ul>
      <TimeAxis width={width} terms={terms} />
      <div class="playground-scrub">
        <Button size="small" aria-pressed={isPlaying} onClick={isPlaying ? pause : play}>
          {isPlaying ? text.pause : text.play}
        </Button>
        <input
          type="range"
          aria-label={text.at}
          aria-valuetext={timeText(text, terms, at)}
          min={0}
          max={length}
          step={slotMs}
          value={at}
          onInput={({ currentTarget: { value } }) => moveTo(Number(value))}
        />
        <output class="numeric">{timeText(text, terms, at)}</output>
      </div>
    </>
  )
}

/** The shown time, which the user moves or which plays by itself. It keeps its place if the length changes. */
function usePlaying(length: number) {
  const [share, setShare] = useState(0)
  const [isPlaying, setPlaying] = useState(false)
  const frame = useRef(0)
  useEffect(() => () => cancelAnimationFrame(frame.current), [])
  // Stops at once, because a frame before the next render would move the time that the user has just set.
  const pause = () => {
    cancelAnimationFrame(frame.current)
    setPlaying(false)
  }
  const play = () => {
    const from = share >= 1 ? 0 : share
    const started = performance.now()
    const step = (now: number) => {
      const reached = Math.min(1, from + Math.max(0, now - started) / PLAY_MS)
      setShare(reached)
      if (reached < 1) frame.current = requestAnimationFrame(step)
      else setPlaying(false)
    }
    setPlaying(true)
    frame.current = requestAnimationFrame(step)
  }
  const moveTo = (moved: number) => {
    pause()
    setShare(moved / length)
  }
  return { at: share * length, isPlaying, play, pause, moveTo }
}
