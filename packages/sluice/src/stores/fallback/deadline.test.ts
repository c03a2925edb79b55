import { stat } from "node:fs/promises"
import { setImmediate as turn } from "node:timers/promises"
import { fileURLToPath } from "node:url"
import { describe, expect, it, vi } from "vitest"
import { ManualClock } from "../../testing/manual-clock.js"
import { type LateAnswer, withDeadline } from "./deadline.js"
import { StoreFailure } from "./store-failure.js"
import { answerTimers, backgroundTimers, type Timers } from "./timers.js"

/** A call whose answer the test gives. */
function question() {
  let resolve: (answer: string) => void = () => {}
  let reject: (error: Error) => void = () => {}
  const promise = new Promise<string>((yes, no) => {
    resolve = yes
    reject = no
  })
  return { call: () => promise, resolve, reject }
}

async function turns(): Promise<void> {
  for (let i = 0; i < 4; i++) await turn()
}

describe("withDeadline", () => {
  it("gives the answer and leaves no timer", async () => {
    const timers = new ManualClock()
    const { call, resolve } = question()
    const answer = withDeadline(call, 50, { timers })
    expect(timers.pending).toBe(1)
    timers.advance(49)
    resolve("yes")
    expect(await answer).toBe("yes")
    expect(timers.pending).toBe(0)
  })

  it("rejects with an ambiguous time-out at the deadline", async () => {
    const timers = new ManualClock()
    const answer = withDeadline(question().call, 50, { timers })
    const failed = expect(answer).rejects.toMatchObject({ kind: "timeout", ambiguous: true })
    timers.advance(50)
    await failed
    await expect(answer).rejects.toBeInstanceOf(StoreFailure)
    expect(timers.pending).toBe(0)
  })

  it("passes the call's own rejection on and leaves no timer", async () => {
    const timers = new ManualClock()
    const refused = new Error("refused")
    const answer = withDeadline(() => Promise.reject(refused), 50, { timers })
    await expect(answer).rejects.toBe(refused)
    expect(timers.pending).toBe(0)
  })

  it("turns a call that throws into a rejection and starts no timer", async () => {
    const timers = new ManualClock()
    const broken = () => {
      throw new TypeError("not a function")
    }
    await expect(withDeadline(broken, 50, { timers })).rejects.toThrow(TypeError)
    expect(timers.pending).toBe(0)
  })

  it("reports the late answer of a call that timed out, once, with how late it was", async () => {
    const timers = new ManualClock()
    const late: LateAnswer[] = []
    const carriedOut = question()
    const refused = question()
    const onLate = (answer: LateAnswer) => late.push(answer)
    const both = [carriedOut, refused].map(({ call }) => withDeadline(call, 50, { timers, onLate }))
    const failed = Promise.allSettled(both)
    timers.advance(50)
    await failed
    timers.advance(20)
    carriedOut.resolve("charged after all")
    refused.reject(new Error("reset"))
    await turns()
    expect(late).toEqual([
      { error: undefined, lateMs: 20 },
      { error: expect.objectContaining({ message: "reset" }), lateMs: 20 },
    ])
  })

  it("swallows a late rejection without a listener", async () => {
    const timers = new ManualClock()
    const { call, reject } = question()
    const answer = withDeadline(call, 50, { timers })
    timers.advance(50)
    await expect(answer).rejects.toThrow(StoreFailure)
    // An unhandled rejection would fail this run.
    reject(new Error("too late"))
    await turns()
  })

  it("survives a listener that throws, and warns", async () => {
    const warned = vi.spyOn(process, "emitWarning").mockImplementation(() => {})
    const timers = new ManualClock()
    const { call, resolve } = question()
    const answer = withDeadline(call, 50, {
      timers,
      onLate: () => {
        throw new Error("listener")
      },
    })
    timers.advance(50)
    await expect(answer).rejects.toThrow(StoreFailure)
    resolve("late")
    await turns()
    expect(warned).toHaveBeenCalledExactlyOnceWith(expect.objectContaining({ message: "listener" }))
    warned.mockRestore()
  })
})

describe("a pause of our own event loop", () => {
  it("is not mistaken for a slow server when the answer has already arrived", async () => {
    const order: string[] = []
    const plainTimer = setTimeout(() => order.push("a plain timer"), 5)
    const answer = withDeadline(() => stat(fileURLToPath(import.meta.url)), 5).then(
      () => order.push("the answer"),
      () => order.push("the deadline"),
    )
    // The thread pool answers long before this ends, and nobody can look.
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 40)
    await answer
    clearTimeout(plainTimer)
    expect(order).toEqual(["a plain timer", "the answer"])
  })

  it("does not count against a server, however long it lasts", async () => {
    const timers = new ManualClock()
    let fire = () => {}
    const late: Timers = {
      now: () => timers.now(),
      schedule(_ms, callback) {
        fire = callback
        return () => {}
      },
    }
    const { call, resolve } = question()
    const answer = withDeadline(call, 50, { timers: late })
    timers.advance(5_000)
    fire()
    await turns()
    resolve("yes")
    expect(await answer).toBe("yes")
  })
})

it("a call learns that its deadline has passed", async () => {
  const timers = new ManualClock()
  const seen: boolean[] = []
  const answer = withDeadline(
    async (hasExpired) => {
      seen.push(hasExpired())
      await new Promise<void>((resolve) => void timers.schedule(60, resolve))
      seen.push(hasExpired())
    },
    50,
    { timers },
  )
  const failed = expect(answer).rejects.toThrow(StoreFailure)
  timers.advance(50)
  await failed
  timers.advance(10)
  await turns()
  expect(seen).toEqual([false, true])
})

describe("timers", () => {
  function timersThatHoldTheProcess(): number {
    return process.getActiveResourcesInfo().filter((name) => name === "Timeout").length
  }

  it("of a deadline hold the process until the answer, those in the background do not", () => {
    const before = timersThatHoldTheProcess()
    const cancelBackground = backgroundTimers.schedule(10_000, () => {})
    expect(timersThatHoldTheProcess()).toBe(before)
    const cancelAnswer = answerTimers.schedule(10_000, () => {})
    expect(timersThatHoldTheProcess()).toBe(before + 1)
    cancelAnswer()
    cancelBackground()
    expect(timersThatHoldTheProcess()).toBe(before)
  })
})
