import { expect, it } from "vitest"
import { ManualClock } from "../testing/manual-clock.js"
import { Holds } from "./limit-fetch-hold.js"

const NEVER = Number.POSITIVE_INFINITY

it("forgets keys whose time is over, and none whose time is not", () => {
  const clock = new ManualClock()
  const holds = new Holds(clock)
  holds.hold("long", 1e9)
  for (let i = 0; i < 100_000; i++) {
    holds.hold(`key ${i}`, 10)
    clock.advance(1)
  }
  expect(holds.size).toBeLessThan(2_000)
  expect(holds.leftMs("long")).toBe(1e9 - 100_000)
})

it("keeps every key that is held, however many", () => {
  const holds = new Holds(new ManualClock())
  for (let i = 0; i < 5_000; i++) holds.hold(`key ${i}`, 10)
  expect(holds.size).toBe(5_000)
})

it("waits on when a hold is made longer meanwhile", async () => {
  const clock = new ManualClock()
  const holds = new Holds(clock)
  holds.hold("key", 100)
  let isOver = false
  const waiting = holds.end("key", NEVER, undefined).then((value) => {
    isOver = true
    return value
  })
  holds.hold("key", 150)
  clock.advance(100)
  await new Promise((resolve) => setImmediate(resolve))
  expect(isOver).toBe(false)
  clock.advance(50)
  expect(await waiting).toBe(true)
  expect(clock.pending).toBe(0)
})

it("does not begin to wait for what ends after the deadline", async () => {
  const clock = new ManualClock()
  const holds = new Holds(clock)
  holds.hold("key", 100)
  expect(await holds.end("key", clock.now() + 99, undefined)).toBe(false)
  expect(clock.pending).toBe(0)
  const waiting = holds.end("key", clock.now() + 100, undefined)
  clock.advance(100)
  expect(await waiting).toBe(true)
})

it("holds nothing for no time", () => {
  const holds = new Holds(new ManualClock())
  holds.hold("key", 0)
  holds.hold("key", Number.NaN)
  expect(holds.size).toBe(0)
})
