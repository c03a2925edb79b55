import { expect, it, vi } from "vitest"
import type { Decision } from "../../decision.js"
import { ManualClock } from "../../testing/manual-clock.js"
import { DelayQueue } from "./delay-queue.js"

function held(delayMs: number): Decision {
  const wait = { retryAfterMs: 0, resetAfterMs: 0, resetAt: 0 }
  return { allowed: true, limit: 10, remaining: 5, used: 5, windowMs: 1_000, ...wait, delayMs }
}

it("has a maximum number of places, and frees one when a wait ends", async () => {
  const clock = new ManualClock()
  const queue = new DelayQueue(2, clock)
  expect([queue.reserve(), queue.reserve(), queue.reserve()]).toEqual([true, true, false])
  const first = queue.wait(held(10), "me", undefined)
  clock.advance(10)
  expect(await first).toBe(true)
  expect(queue.size).toBe(1)
  expect(queue.reserve()).toBe(true)
})

it("has no place when its maximum is 0", () => {
  expect(new DelayQueue(0).reserve()).toBe(false)
})

it("leaves no timer and no listener behind, however a wait ends", async () => {
  const clock = new ManualClock()
  const queue = new DelayQueue(2, clock)
  const leaving = new AbortController()
  const removed = vi.spyOn(leaving.signal, "removeEventListener")
  queue.reserve()
  queue.reserve()
  const waits = [10, 20].map((ms) => queue.wait(held(ms), "me", leaving.signal))
  clock.advance(10)
  leaving.abort()
  expect(await Promise.all(waits)).toEqual([true, false])
  expect(clock.pending).toBe(0)
  expect(queue.size).toBe(0)
  expect(removed).toHaveBeenCalledTimes(2)
})

it("does not wait when the client has already left", async () => {
  const clock = new ManualClock()
  const queue = new DelayQueue(1, clock)
  queue.reserve()
  expect(await queue.wait(held(10), "me", AbortSignal.abort())).toBe(false)
  expect([clock.pending, queue.size]).toEqual([0, 0])
})
