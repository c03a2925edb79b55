import { expect, it } from "vitest"
import { ManualClock } from "./manual-clock.js"

it("does not move on its own", () => {
  const clock = new ManualClock(1_000)
  expect(clock.now()).toBe(1_000)
  clock.advance(0.5)
  expect(clock.now()).toBe(1_000.5)
  clock.set(500)
  expect(clock.now()).toBe(500)
})

it("starts at 2026 by default", () => {
  expect(new ManualClock().now()).toBe(Date.parse("2026-01-01T00:00:00Z"))
})

it("runs callbacks in order of their time, each at its own", () => {
  const clock = new ManualClock(0)
  const seen: [string, number][] = []
  const note = (name: string) => () => seen.push([name, clock.now()])
  clock.schedule(30, note("c"))
  clock.schedule(10, note("a"))
  clock.schedule(20, note("b"))
  clock.schedule(40, note("d"))
  clock.advance(30)
  expect(seen).toEqual([
    ["a", 10],
    ["b", 20],
    ["c", 30],
  ])
  expect(clock.now()).toBe(30)
  expect(clock.pending).toBe(1)
})

it("runs callbacks of the same time in the order they were scheduled", () => {
  const clock = new ManualClock(0)
  const seen: number[] = []
  for (let i = 0; i < 5; i++) clock.schedule(10, () => seen.push(i))
  clock.advance(10)
  expect(seen).toEqual([0, 1, 2, 3, 4])
})

it("runs callbacks that a callback schedules within the advanced time", () => {
  const clock = new ManualClock(0)
  const seen: number[] = []
  const again = () => {
    seen.push(clock.now())
    clock.schedule(10, again)
  }
  clock.schedule(10, again)
  clock.advance(35)
  expect(seen).toEqual([10, 20, 30])
  expect(clock.pending).toBe(1)
})

it("forgets a callback that was cancelled", () => {
  const clock = new ManualClock(0)
  let ran = false
  const cancel = clock.schedule(10, () => {
    ran = true
  })
  expect(clock.pending).toBe(1)
  cancel()
  cancel()
  expect(clock.pending).toBe(0)
  clock.advance(20)
  expect(ran).toBe(false)
})

it("lets one callback cancel another that is due at the same time", () => {
  const clock = new ManualClock(0)
  let ran = false
  let cancel = () => {}
  clock.schedule(10, () => cancel())
  cancel = clock.schedule(10, () => {
    ran = true
  })
  clock.advance(10)
  expect(ran).toBe(false)
  expect(clock.pending).toBe(0)
})

it("runs nothing when it is set back, and later runs the callbacks that are due by then", () => {
  const clock = new ManualClock(1_000)
  const seen: number[] = []
  clock.schedule(100, () => seen.push(clock.now()))
  clock.set(0)
  expect(seen).toEqual([])
  clock.set(1_099)
  expect(seen).toEqual([])
  clock.set(1_100)
  expect(seen).toEqual([1_100])
})
