// Requests that a queueing leaky bucket has let in, each for a time of its own. The times belong to the bucket, not to the
// requests: whoever came first takes the first, and when one gives up, those behind it move up and the last time is free. That
// is the one that a refund gives back to the bucket, so that nobody new is let in for a time that somebody else has already.

import type { Clock } from "./clock.js"

interface Line {
  /** What cancels the timer of each, the earliest first. There are as many as there are waiters. */
  readonly slots: (() => void)[]
  /** Who waits, in the order in which they came. */
  readonly waiters: Set<() => void>
}

/** One line for each key: that of a bucket. Several processes that share a bucket keep their own lines. */
export class SlotQueue {
  readonly #clock: Required<Clock>
  readonly #lines = new Map<string, Line>()

  constructor(clock: Required<Clock>) {
    this.#clock = clock
  }

  /** True when its turn has come, false when the signal came first. No timer and no listener is left either way. */
  wait(key: string, ms: number, signal: AbortSignal | undefined): Promise<boolean> {
    const lines = this.#lines
    return new Promise((resolve) => {
      const line: Line = lines.get(key) ?? { slots: [], waiters: new Set() }
      lines.set(key, line)
      const end = (isDue: boolean) => {
        line.waiters.delete(onTurn)
        if (line.waiters.size === 0) lines.delete(key)
        signal?.removeEventListener("abort", onAbort)
        resolve(isDue)
      }
      const onTurn = () => end(true)
      const onAbort = () => {
        line.slots.pop()?.()
        end(false)
      }
      line.waiters.add(onTurn)
      const cancel = this.#clock.schedule(ms, () => {
        line.slots.splice(line.slots.indexOf(cancel), 1)
        // The first only: each of them has a slot.
        for (const onFirstTurn of line.waiters) return onFirstTurn()
      })
      line.slots.push(cancel)
      if (signal?.aborted) onAbort()
      else signal?.addEventListener("abort", onAbort)
    })
  }
}
