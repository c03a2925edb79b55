import { setImmediate as turn } from "node:timers/promises"
import { describe, expect, it } from "vitest"
import { ManualClock } from "./testing/manual-clock.js"
import { systemAlarm, type TimeoutEntry, Timeouts, type TimeoutsOptions } from "./timeouts.js"

const MS = 50

class Entry implements TimeoutEntry {
  dueAt = 0
  previous: TimeoutEntry | undefined = undefined
  next: TimeoutEntry | undefined = undefined
  expired = 0
  readonly #onExpire: () => void

  constructor(onExpire: () => void = () => {}) {
    this.#onExpire = onExpire
  }

  expire(): void {
    this.expired++
    this.#onExpire()
  }
}

/** Long enough for every callback that waits for the sockets to be read. */
async function turns(): Promise<void> {
  for (let i = 0; i < 4; i++) await turn()
}

/** Timeouts on a clock that the test moves. `held` records when the process is kept alive. */
function open(options: TimeoutsOptions = {}) {
  const clock = new ManualClock()
  const held: boolean[] = []
  const timeouts = new Timeouts(MS, {
    now: () => clock.now(),
    alarm: (callback) => ({
      set: (ms) => void clock.schedule(ms, callback),
      hold: (isHeld) => void held.push(isHeld),
    }),
    ...options,
  })
  const start = (onExpire?: () => void) => {
    const entry = new Entry(onExpire)
    timeouts.add(entry)
    return entry
  }
  return { clock, timeouts, held, start }
}

describe.each([false, true])("timeouts with awaitsAnswers: %s", (awaitsAnswers) => {
  const openThese = () => open({ awaitsAnswers })

  it("expire each entry at its own time, and not before", async () => {
    const { clock, start } = openThese()
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
  })

  it("expire no entry that was removed, in whatever order", async () => {
    const { clock, timeouts, start } = openThese()
    const entries = [start(), start(), start(), start(), start()] as const
    for (const i of [2, 3, 0] as const) timeouts.remove(entries[i])
    clock.advance(MS)
    await turns()
    expect(entries.map(({ expired }) => expired)).toEqual([0, 1, 0, 0, 1])
    expect(timeouts.isEmpty).toBe(true)
  })

  it("ignore the removal of an entry that is not in the list", async () => {
    const { clock, timeouts, start } = openThese()
    const inList = start()
    const removed = start()
    timeouts.remove(removed)
    timeouts.remove(removed)
    timeouts.remove(new Entry())
    clock.advance(MS)
    await turns()
    expect([inList.expired, removed.expired]).toEqual([1, 0])
  })

  it("use one timer for all entries", () => {
    const { clock, timeouts, start } = openThese()
    for (let i = 0; i < 100; i++) timeouts.remove(start())
    for (let i = 0; i < 100; i++) start()
    expect(clock.pending).toBe(1)
  })

  it("have no timer left once it has fired on an empty list", () => {
    const { clock, timeouts, start } = openThese()
    timeouts.remove(start())
    clock.advance(MS)
    expect(clock.pending).toBe(0)
  })

  it("expire an entry in time that comes after the timer has fired on an empty list", async () => {
    const { clock, timeouts, start } = openThese()
    timeouts.remove(start())
    clock.advance(3 * MS)
    const entry = start()
    clock.advance(MS - 1)
    await turns()
    expect(entry.expired).toBe(0)
    clock.advance(1)
    await turns()
    expect(entry.expired).toBe(1)
  })

  it("keep no reference to an entry that has expired", async () => {
    const { clock, start } = openThese()
    const entry = start()
    start()
    clock.advance(MS)
    await turns()
    expect([entry.previous, entry.next]).toEqual([undefined, undefined])
  })

  it("are not delayed by an entry that is added while others expire", async () => {
    const { clock, start } = openThese()
    start(() => start())
    clock.advance(20)
    const second = start()
    clock.advance(30)
    start()
    await turns()
    clock.advance(20)
    await turns()
    expect(second.expired).toBe(1)
  })

  it("let an entry remove others, and add others, as it expires", async () => {
    const { clock, timeouts, start } = openThese()
    const added: Entry[] = []
    start(() => {
      timeouts.remove(removed)
      added.push(start())
    })
    const removed = start()
    clock.advance(MS)
    await turns()
    expect([removed.expired, added[0]?.expired]).toEqual([0, 0])
    clock.advance(MS)
    await turns()
    expect([removed.expired, added[0]?.expired]).toEqual([0, 1])
  })
})

it("an entry does not expire if its answer is read after the timer has fired", async () => {
  const { clock, timeouts, start } = open({ awaitsAnswers: true })
  const entry = start()
  clock.advance(MS)
  timeouts.remove(entry)
  await turns()
  expect(entry.expired).toBe(0)
})

describe("a process that is blocked", () => {
  /** Timeouts whose timer is as late as the test wants: `turn` moves the clock, and then lets the timer fire if it is due. */
  function openBlockable(ms = MS) {
    let now = 0
    let due = Number.POSITIVE_INFINITY
    let fire = () => {}
    const timeouts = new Timeouts(ms, {
      awaitsAnswers: true,
      now: () => now,
      alarm(callback) {
        fire = callback
        return {
          set(after) {
            due = now + after
          },
          hold() {},
        }
      },
    })
    const turnAfter = async (blockedMs: number) => {
      now += blockedMs
      if (now < due) return
      due = Number.POSITIVE_INFINITY
      fire()
      await turns()
    }
    return { timeouts, turnAfter }
  }

  it("does not count the time against an answer that it could not read", async () => {
    const { timeouts, turnAfter } = openBlockable()
    const entry = new Entry()
    timeouts.add(entry)
    await turnAfter(10 * MS)
    expect(entry.expired).toBe(0)
    for (let i = 0; i < 7; i++) await turnAfter(5)
    expect(entry.expired).toBe(0)
    await turnAfter(5)
    expect(entry.expired).toBe(1)
  })

  it("gives entries that it added while it was blocked the same time as others", async () => {
    const { timeouts, turnAfter } = openBlockable()
    const first = new Entry()
    timeouts.add(first)
    // No timer fires here: the process runs one long task.
    const last = new Entry()
    await turnAfter(4)
    timeouts.add(last)
    await turnAfter(10 * MS)
    for (let i = 0; i < 8; i++) await turnAfter(5)
    expect([first.expired, last.expired]).toEqual([1, 0])
    await turnAfter(4)
    expect(last.expired).toBe(1)
  })

  it("again and again still notices a server that never answers, after a few turns", async () => {
    const { timeouts, turnAfter } = openBlockable()
    const entry = new Entry()
    timeouts.add(entry)
    for (let i = 0; i < 4; i++) await turnAfter(10 * MS)
    expect(entry.expired).toBe(0)
    await turnAfter(10 * MS)
    expect(entry.expired).toBe(1)
  })

  it("for less than a step notices a server that never answers at once", async () => {
    const { timeouts, turnAfter } = openBlockable()
    const entry = new Entry()
    timeouts.add(entry)
    // Each timer fires 4 ms late: after 9, 18, 27 … ms.
    for (let i = 0; i < 5; i++) await turnAfter(9)
    expect(entry.expired).toBe(0)
    await turnAfter(9)
    expect(entry.expired).toBe(1)
  })
})

it("the process is kept alive while an entry waits, and only if that was asked for", async () => {
  const { clock, timeouts, held, start } = open({ keepsProcessAlive: true })
  const [first, second] = [start(), start()]
  expect(held).toEqual([true])
  timeouts.remove(second)
  expect(held).toEqual([true])
  timeouts.remove(first)
  expect(held).toEqual([true, false])
  start()
  clock.advance(MS)
  expect(held).toEqual([true, false, true, false])

  const background = open()
  background.timeouts.remove(background.start())
  expect(background.held).toEqual([])
})

it("an infinite time sets no timer", () => {
  const clock = new ManualClock()
  const timeouts = new Timeouts(Number.POSITIVE_INFINITY, {
    alarm: (callback) => ({ set: (ms) => void clock.schedule(ms, callback), hold() {} }),
  })
  const entry = new Entry()
  timeouts.add(entry)
  expect(clock.pending).toBe(0)
  timeouts.remove(entry)
  expect(timeouts.isEmpty).toBe(true)
})

describe("the alarm of the system", () => {
  function timersThatHoldTheProcess(): number {
    return process.getActiveResourcesInfo().filter((name) => name === "Timeout").length
  }

  it("keeps the process alive only while it is told to, set before or after", () => {
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
