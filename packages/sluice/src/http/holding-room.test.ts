import { expect, it, vi } from "vitest"
import { ManualClock } from "../testing/manual-clock.js"
import { HoldingRoom } from "./holding-room.js"

it("has so many places and no more, and gets one back when somebody leaves", async () => {
  const clock = new ManualClock()
  const room = new HoldingRoom(2, clock)
  expect([room.enter(), room.enter(), room.enter()]).toEqual([true, true, false])
  const first = room.wait(10, undefined)
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
  const waits = [room.wait(10, leaving.signal), room.wait(20, leaving.signal)]
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
  expect(await room.wait(10, AbortSignal.abort())).toBe(false)
  expect([clock.pending, room.taken]).toEqual([0, 0])
})
