import { afterEach, expect, it, vi } from "vitest"
import { systemAlarm } from "../../timeouts.js"
import { answerTimers, backgroundTimers } from "./timers.js"

/** Beyond this `setTimeout` fires after a millisecond. */
const MAX_MS = 2 ** 31 - 1

afterEach(() => {
  vi.restoreAllMocks()
})

it.each([
  ["deadlines", (callback: () => void, ms: number) => void answerTimers.schedule(ms, callback)],
  [
    "work in the background",
    (callback: () => void, ms: number) => void backgroundTimers.schedule(ms, callback),
  ],
  ["alarms", (callback: () => void, ms: number) => systemAlarm(callback).set(ms)],
])("a wait of a month does not end at once for %s", (_, start) => {
  const waits: (number | undefined)[] = []
  const timer = { ref() {}, unref() {} } as NodeJS.Timeout
  vi.spyOn(globalThis, "setTimeout").mockImplementation(((_callback: () => void, ms?: number) => {
    waits.push(ms)
    return timer
  }) as typeof setTimeout)
  for (const ms of [50, MAX_MS, 30 * 86_400_000, Number.POSITIVE_INFINITY]) start(() => undefined, ms)
  expect(waits).toEqual([50, MAX_MS, MAX_MS, MAX_MS])
})
