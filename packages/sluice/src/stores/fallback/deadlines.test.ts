import { setImmediate as turn } from "node:timers/promises"
import { describe, expect, it } from "vitest"
import { ManualClock } from "../../testing/manual-clock.js"
import { Deadlines, Timed } from "./deadlines.js"
import { systemAlarm } from "./timers.js"

const MS = 50

class Question extends Timed {
  expired = 0

  expire(): void {
    this.expired++
  }
}

async function turns(): Promise<void> {
  for (let i = 0; i < 4; i++) await turn()
}

/** Deadlines on a clock that the test moves, and how the process is held. */
function open() {
  const clock = new ManualClock()
  const held: boolean[] = []
  const deadlines = new Deadlines(MS, {
    now: () => clock.now(),
    alarm: (callback) => ({
      set: (ms) => void clock.schedule(ms, callback),
      hold: (isHeld) => void held.push(isHeld),
    }),
  })
  const start = () => {
    const question = new Question()
    deadlines.start(question)
    return question
  }
  return { clock, deadlines, held, start }
}

describe("deadlines", () => {
  it("expire each call at its own time, and not before", async () => {
    const { clock, start } = open()
    const first = start()
    clock.advance(20)
    const second = start()
    clock.advance(29)
    await turns()
    expect([first.expired, second.expired]).toEqual([0, 0])
    clock.advance(1)
    await turns()
    expect([first.expired, second.expired]).toEqual([1, 0])
    clock.advance(20)
    await turns()
    expect([first.expired, second.expired]).toEqual([1, 1])
    expect([first.isOver, second.isOver]).toEqual([true, true])
  })

  it("leave answered calls alone, in whatever order the answers came", async () => {
    const { clock, deadlines, start } = open()
    const [first, second, third] = [start(), start(), start()]
    deadlines.end(second)
    deadlines.end(first)
    clock.advance(MS)
    await turns()
    expect([first.expired, second.expired, third.expired]).toEqual([0, 0, 1])
  })

  it("let an answer that has already arrived be read first", async () => {
    const { clock, deadlines, start } = open()
    const question = start()
    clock.advance(MS)
    deadlines.end(question)
    await turns()
    expect(question.expired).toBe(0)
  })

  it("use one timer for all calls", () => {
    const { clock, deadlines, start } = open()
    for (let i = 0; i < 100; i++) deadlines.end(start())
    for (let i = 0; i < 100; i++) start()
    expect(clock.pending).toBe(1)
  })

  it("have no timer left once one has run out with nothing under way", () => {
    const { clock, deadlines, start } = open()
    deadlines.end(start())
    clock.advance(MS)
    expect(clock.pending).toBe(0)
  })

  it("still hold for a call that starts after the timer has run out", async () => {
    const { clock, deadlines, start } = open()
    deadlines.end(start())
    clock.advance(3 * MS)
    const question = start()
    clock.advance(MS - 1)
    await turns()
    expect(question.expired).toBe(0)
    clock.advance(1)
    await turns()
    expect(question.expired).toBe(1)
  })

  it("hold the process while a call is under way, and only then", async () => {
    const { clock, deadlines, held, start } = open()
    const [first, second] = [start(), start()]
    expect(held).toEqual([true])
    deadlines.end(second)
    expect(held).toEqual([true])
    deadlines.end(first)
    expect(held).toEqual([true, false])
    start()
    clock.advance(MS)
    await turns()
    expect(held).toEqual([true, false, true, false])
  })

  it("forget a call that was never answered, with all those after it", async () => {
    const { clock, start } = open()
    const lost = start()
    start()
    clock.advance(MS)
    await turns()
    expect(lost.next).toBeUndefined()
  })

  it("are not put off by a call that starts while answers are still being read", async () => {
    const { clock, start } = open()
    start()
    clock.advance(20)
    const second = start()
    clock.advance(30)
    start()
    await turns()
    clock.advance(20)
    await turns()
    expect(second.expired).toBe(1)
  })

  it("are not put off by a call that starts as another expires", async () => {
    const { clock, deadlines, start } = open()
    deadlines.start(
      new (class extends Timed {
        expire(): void {
          start()
        }
      })(),
    )
    clock.advance(20)
    const second = start()
    clock.advance(30)
    await turns()
    clock.advance(20)
    await turns()
    expect(second.expired).toBe(1)
  })

  it("go on when a call starts another as it expires", async () => {
    const { clock, deadlines, start } = open()
    const again: Question[] = []
    deadlines.start(
      new (class extends Timed {
        expire(): void {
          again.push(start())
        }
      })(),
    )
    clock.advance(MS)
    await turns()
    expect(again.map(({ expired }) => expired)).toEqual([0])
    clock.advance(MS)
    await turns()
    expect(again.map(({ expired }) => expired)).toEqual([1])
  })
})

describe("the system's alarm", () => {
  function timersThatHoldTheProcess(): number {
    return process.getActiveResourcesInfo().filter((name) => name === "Timeout").length
  }

  it("holds the process only while it is told to, set before or after", () => {
    const before = timersThatHoldTheProcess()
    const alarm = systemAlarm(() => {})
    alarm.set(10_000)
    expect(timersThatHoldTheProcess()).toBe(before)
    alarm.hold(true)
    expect(timersThatHoldTheProcess()).toBe(before + 1)
    alarm.hold(false)
    expect(timersThatHoldTheProcess()).toBe(before)
    const held = systemAlarm(() => {})
    held.hold(true)
    held.set(10_000)
    expect(timersThatHoldTheProcess()).toBe(before + 1)
    held.hold(false)
  })
})
