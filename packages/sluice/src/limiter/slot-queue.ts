// Requests that a queueing leaky bucket has allowed, each for a later time. The times (slots) belong to the bucket, not to the
// requests: the first request takes the first slot. When a request gives up, those behind it move up, and the last slot is free.
// That is the slot that its refund gives back to the bucket, so that no new request gets a slot that is already taken.

import type { Clock } from "../clock.js"
import { getOrAdd } from "../get-or-add.js"

interface Line {
  /** Cancels the timer of a slot, the earliest slot first. There are as many slots as waiters. */
  readonly slots: (() => void)[]
  /** The waiting requests, in the order in which they came. */
  readonly waiters: Set<() => void>
}

/** One line per key, which names a bucket. Processes that share a bucket have their own lines. */
export class SlotQueue {
  readonly #clock: Required<Clock>
  readonly #lines = new Map<string, Line>()

  constructor(clock: Required<Clock>) {
    this.#clock = clock
  }

  /** Resolves to true at the turn of the request, to false if the signal aborts first. Removes its timer and listener. */
  wait(key: string, ms: number, signal: AbortSignal | undefined): Promise<boolean> {
    const lines = this.#lines
    return new Promise((resolve) => {
      const line = getOrAdd(lines, key, (): Line => ({ slots: [], waiters: new Set() }))
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
        // The first waiter takes the slot.
        for (const onFirstTurn of line.waiters) return onFirstTurn()
      })
      line.slots.push(cancel)
      if (signal?.aborted) onAbort()
      else signal?.addEventListener("abort", onAbort)
    })
  }
}
