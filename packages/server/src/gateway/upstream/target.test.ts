import { ManualClock } from "sluice/testing"
import { expect, it } from "vitest"
import type { Ejection, MonitoredTarget } from "./target.js"
import { idleTarget } from "./target.test-support.js"

const clock = new ManualClock()

function target(ejection?: Ejection): MonitoredTarget {
  return idleTarget("a", ejection, clock)
}

function ask(target: MonitoredTarget, ...outcomes: readonly ("answered" | "failed")[]): void {
  for (const outcome of outcomes) {
    target.begin()
    target.ended(outcome)
  }
}

it("counts the exchanges in progress", () => {
  const a = target()
  a.begin()
  a.begin()
  expect(a.active).toBe(2)
  a.ended("answered")
  a.ended("failed")
  expect(a.active).toBe(0)
})

it("is ejected after the given number of failures in a row, not when an answer came in between", () => {
  const a = target({ failures: 3, forMs: 10_000 })
  ask(a, "failed", "failed", "answered", "failed", "failed")
  expect(a.isEjected).toBe(false)
  ask(a, "failed")
  expect(a.isEjected).toBe(true)
})

it("is usable again exactly when the ejection ends", () => {
  const a = target()
  ask(a, "failed", "failed")
  clock.advance(9_999)
  expect(a.isEjected).toBe(true)
  clock.advance(1)
  expect(a.isEjected).toBe(false)
})

it("is ejected for twice as long when it fails again", () => {
  const a = target()
  ask(a, "failed", "failed")
  clock.advance(10_000)
  ask(a, "failed")
  clock.advance(19_999)
  expect(a.isEjected).toBe(true)
  clock.advance(1)
  expect(a.isEjected).toBe(false)
})

it("is never ejected for more than ten times as long", () => {
  const a = target()
  for (let i = 0; i < 20; i++) {
    ask(a, "failed", "failed")
    clock.advance(100_000)
    expect(a.isEjected).toBe(false)
  }
})

it("is not ejected for longer by requests that were in progress", () => {
  const a = target()
  for (let i = 0; i < 10; i++) a.begin()
  for (let i = 0; i < 10; i++) a.ended("failed")
  clock.advance(10_000)
  expect(a.isEjected).toBe(false)
})

it("starts over after an answer", () => {
  const a = target()
  ask(a, "failed", "failed")
  a.begin()
  a.ended("answered")
  expect(a.isEjected).toBe(false)
  ask(a, "failed")
  expect(a.isEjected).toBe(false)
})

it("is never ejected when ejection is off", () => {
  const a = target({ failures: 0, forMs: 10_000 })
  ask(a, "failed", "failed", "failed", "failed")
  expect(a.isEjected).toBe(false)
})
