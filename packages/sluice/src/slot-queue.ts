// Requests that a queueing leaky bucket has let in, each for a time of its own. The times belong to the bucket, not to the
// requests: whoever came first takes the first, and when one gives up, those behind it move up and the last time is free. That
// is the one that a refund gives back to the bucket, so that nobody new is let in for a time that somebody else has already.

import type { Clock } from "./clock.js"

/** The time of one place. */
interface Slot {
  readonly due: number
  cancel: () => void
}

interface Line {
  /** The earliest first. There are as many as there are waiters. */
  readonly slots: Slot[]
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
    if (signal?.aborted === true) return Promise.resolve(false)
    return new Promise((resolve) => {
      const line = this.#lineOf(key)
      const end = (isDue: boolean): void => {
        line.waiters.delete(onTurn)
        if (line.waiters.size === 0 && this.#lines.get(key) === line) this.#lines.delete(key)
        signal?.removeEventListener("abort", onAbort)
        resolve(isDue)
      }
      const onTurn = (): void => end(true)
      const onAbort = (): void => {
        line.slots.pop()?.cancel()
        end(false)
      }
      line.waiters.add(onTurn)
      this.#addSlot(line, ms)
      signal?.addEventListener("abort", onAbort)
    })
  }

  #lineOf(key: string): Line {
    let line = this.#lines.get(key)
    if (line === undefined) {
      line = { slots: [], waiters: new Set() }
      this.#lines.set(key, line)
    }
    return line
  }

  #addSlot({ slots, waiters }: Line, ms: number): void {
    const slot: Slot = { due: this.#clock.now() + ms, cancel: () => undefined }
    // Nearly always behind all others.
    let at = slots.length
    while (at > 0 && (slots[at - 1] as Slot).due > slot.due) at--
    slots.splice(at, 0, slot)
    slot.cancel = this.#clock.schedule(ms, () => {
      slots.splice(slots.indexOf(slot), 1)
      const [first] = waiters
      first?.()
    })
  }
}
