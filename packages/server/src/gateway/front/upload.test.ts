import { expect, it } from "vitest"
import { UploadPace } from "./upload.js"

const rate = { bytesPerSecond: 100, graceMs: 1_000 }

it("requires the minimum rate of a client after a grace period", () => {
  const pace = new UploadPace(rate, 10_000, 0)
  expect([pace.isTooSlow(1_000), pace.isTooSlow(1_001)]).toEqual([false, true])
  pace.moved(50, 1_000)
  expect([pace.isTooSlow(1_500), pace.isTooSlow(1_501)]).toEqual([false, true])
})

it("ends an upload that sends only a byte now and then", () => {
  const pace = new UploadPace(rate, 10_000, 0)
  let now = 0
  while (!pace.isTooSlow(now) && now < 60_000) {
    now += 400
    pace.moved(1, now)
  }
  expect(now).toBeLessThan(1_500)
})

it("lets a client that was fast pause, up to a maximum", () => {
  const pace = new UploadPace(rate, 10_000, 0)
  pace.moved(1_000_000, 10)
  expect([pace.isTooSlow(10_010), pace.isTooSlow(10_011)]).toEqual([false, true])
})

it("does not count the time in which the upstream reads slowly", () => {
  const pace = new UploadPace(rate, 10_000, 0)
  pace.pause(500)
  expect(pace.isTooSlow(100_000)).toBe(false)
  pace.resume(100_000)
  expect([pace.isTooSlow(100_500), pace.isTooSlow(100_501)]).toEqual([false, true])
})
