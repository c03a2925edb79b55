import { afterEach, beforeEach, describe, expect, it, vi } from "vitest"
import type { Deadlines } from "../routes/route.js"
import { type Deadline, DeadlineTimer } from "./deadline-timer.js"

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

function start(deadlines: Partial<Deadlines>) {
  const expired: Deadline[] = []
  const all = { connect: 0, headers: 0, bodyIdle: 0, total: 0, ...deadlines }
  const timer = new DeadlineTimer(all, performance.now(), (deadline) => expired.push(deadline))
  return { timer, expired }
}

describe("a deadline", () => {
  it("passes after exactly its time in its phase, and not before", () => {
    const { timer, expired } = start({ headers: 1_000, bodyIdle: 50 })
    vi.advanceTimersByTime(30)
    timer.enter("headers", performance.now())
    vi.advanceTimersByTime(999)
    expect(expired).toEqual([])
    vi.advanceTimersByTime(1)
    expect(expired).toEqual(["headers"])
  })

  it("that is shorter than the previous one passes in time", () => {
    const { timer, expired } = start({ headers: 60_000, bodyIdle: 50 })
    timer.enter("headers", performance.now())
    vi.advanceTimersByTime(1_234)
    timer.enter("bodyIdle", performance.now())
    vi.advanceTimersByTime(49)
    expect(expired).toEqual([])
    vi.advanceTimersByTime(1)
    expect(expired).toEqual(["bodyIdle"])
  })

  it("between two pieces starts again with each piece, and the one for the whole exchange does not", () => {
    const { timer, expired } = start({ bodyIdle: 100, total: 1_000 })
    timer.enter("bodyIdle", performance.now())
    for (let passed = 0; passed < 990; passed += 99) {
      vi.advanceTimersByTime(99)
      timer.mark()
    }
    expect(expired).toEqual([])
    vi.advanceTimersByTime(10)
    expect(expired).toEqual(["total"])
  })

  it("of 0 never passes, and none passes before the first phase or after the end", () => {
    const endless = start({})
    endless.timer.enter("headers", performance.now())
    const early = start({ headers: 50, bodyIdle: 50 })
    const over = start({ headers: 50, total: 60 })
    over.timer.enter("headers", performance.now())
    over.timer.stop()
    vi.advanceTimersByTime(10_000)
    expect([...endless.expired, ...early.expired, ...over.expired]).toEqual([])
  })

  it("longer than any timer can run does not pass at once", () => {
    const { expired } = start({ total: 2 ** 32 })
    vi.advanceTimersByTime(10_000)
    expect(expired).toEqual([])
  })
})
