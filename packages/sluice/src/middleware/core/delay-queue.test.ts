import { expect, it, vi } from "vitest"
import type { Decision } from "../../decision.js"
import { ManualClock } from "../../testing/manual-clock.js"
import { HoldingRoom } from "./delay-queue.js"

function held(delayMs: number): Decision {
  const wait = { retryAfterMs: 0, resetAfterMs: 0, resetAt: 0 }
  return { allowed: true, limit: 10, remaining: 5, ...wait, delayMs }
}

it("has so many places and no more, and gets one back when somebody leaves", async () => {
  const clock = new ManualClock()
  const room = new HoldingRoom(2, clock)
  expect([room.enter(), room.enter(), room.enter()]).toEqual([true, true, false])
  const first = room.wait(held(10), "me", undefined)
  clock.advance(10)
  expect(await first).toBe(true)
  expect(room.taken).toBe(1)
  expect(room.enter()).toBe(true)
})

it("takes nobody in when it has no places", () => {
  expect(new HoldingRoom(0).enter()).toBe(false)
})

it("leaves no timer and no listener behind, whichever way a wait ends", async () => {
  const clock = new ManualClock()
  const room = new HoldingRoom(2, clock)
  const leaving = new AbortController()
  const removed = vi.spyOn(leaving.signal, "removeEventListener")
  room.enter()
  room.enter()
  const waits = [10, 20].map((ms) => room.wait(held(ms), "me", leaving.signal))
  clock.advance(10)
  leaving.abort()
  expect(await Promise.all(waits)).toEqual([true, false])
  expect(clock.pending).toBe(0)
  expect(room.taken).toBe(0)
  expect(removed).toHaveBeenCalledTimes(2)
})

it("does not wait for somebody who has left already", async () => {
  const clock = new ManualClock()
  const room = new HoldingRoom(1, clock)
  room.enter()
  expect(await room.wait(held(10), "me", AbortSignal.abort())).toBe(false)
  expect([clock.pending, room.taken]).toEqual([0, 0])
})
