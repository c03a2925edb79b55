// The lanes, one under the other, and the moment that all of them show.

import { useEffect, useRef, useState } from "preact/hooks"
import { Button } from "../../parts/button.js"
import { Swatch } from "../../parts/chart/sparkline.js"
import type { Contender } from "./contenders.js"
import { useWidth } from "./drawing.js"
import { Lane } from "./lane.js"
import { decideAlike, type Outcome } from "./simulate.js"
import { TimeAxis } from "./sketch.js"
import type { PlaygroundText } from "./texts.js"
import { SECONDS, SLOT_MS, type Terms } from "./traffic.js"

export interface Run {
  readonly contender: Contender
  readonly outcome: Outcome
}

const END = SECONDS * 1000
/** A minute is played in six seconds. */
const SPEED = 10

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
  const { at, isPlaying, play, pause, moveTo } = usePlaying()
  useEffect(() => {
    const lanes = list.current
    // A mouse over the lanes reads them; the slider below them does so for everybody.
    const read = ({ clientX, pointerType }: PointerEvent) => {
      if (lanes === null || pointerType !== "mouse") return
      const { left, width } = lanes.getBoundingClientRect()
      moveTo(Math.min(END, Math.max(0, ((clientX - left) / width) * END)))
    }
    lanes?.addEventListener("pointermove", read)
    return () => lanes?.removeEventListener("pointermove", read)
  }, [])
  const bars = runs.flatMap(({ outcome }) =>
    outcome.passed.map((count, i) => count + (outcome.denied[i] ?? 0)),
  )
  const most = Math.max(1, ...bars)
  const mostInWindow = 1.1 * Math.max(terms.limit, ...runs.map(({ outcome }) => outcome.busiest.total))
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
          <Swatch colour="--accent" /> {text.inWindow(terms.windowSeconds)}
        </li>
        <li>
          <Swatch colour="--denied" /> {text.overLimit}
        </li>
      </ul>
      {/* Patterns are taken from here by all lanes. */}
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
      <ul class="playground-lanes" ref={list}>
        {runs.map(({ contender, outcome }, i) => (
          <Lane
            key={contender.id}
            {...{ contender, outcome, terms, most, mostInWindow, width, at, text }}
            alike={runs.slice(0, i).find((earlier) => decideAlike(earlier.outcome, outcome))?.contender.name}
          />
        ))}
      </ul>
      <TimeAxis width={width} />
      <div class="playground-scrub">
        <Button size="small" aria-pressed={isPlaying} onClick={isPlaying ? pause : play}>
          {isPlaying ? text.pause : text.play}
        </Button>
        <input
          type="range"
          aria-label={text.at}
          aria-valuetext={text.atSecond((at / 1000).toFixed(1))}
          min={0}
          max={END}
          step={SLOT_MS}
          value={at}
          onInput={({ currentTarget: { value } }) => moveTo(Number(value))}
        />
        <output class="numeric">{text.atSecond((at / 1000).toFixed(1))}</output>
      </div>
    </>
  )
}

/** Where the time line stands, moved by hand or by itself. */
function usePlaying() {
  const [at, setAt] = useState(0)
  const [isPlaying, setPlaying] = useState(false)
  const frame = useRef(0)
  useEffect(() => () => cancelAnimationFrame(frame.current), [])
  // At once, not with the next drawing: a frame in between would move what a hand has just put in its place.
  const pause = () => {
    cancelAnimationFrame(frame.current)
    setPlaying(false)
  }
  const play = () => {
    const from = at >= END ? 0 : at
    const started = performance.now()
    const step = (now: number) => {
      const reached = Math.min(END, from + Math.max(0, now - started) * SPEED)
      setAt(reached)
      if (reached < END) frame.current = requestAnimationFrame(step)
      else setPlaying(false)
    }
    setPlaying(true)
    frame.current = requestAnimationFrame(step)
  }
  const moveTo = (moved: number) => {
    pause()
    setAt(moved)
  }
  return { at, isPlaying, play, pause, moveTo }
}
