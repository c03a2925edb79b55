import { afterEach, beforeEach, describe, expect, it, vi } from "vitest"
import { type Waiting, WaitList } from "./wait-list.js"

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

function start(ms = 100) {
  const list = new WaitList(ms)
  const told: string[] = []
  const add = (name: string, due = () => {}): Waiting => {
    const waiting = {
      before: undefined,
      after: undefined,
      dueAt: 0,
      due() {
        told.push(name)
        due()
      },
    }
    list.add(waiting, performance.now())
    return waiting
  }
  return { list, told, add }
}

describe("who waits in a list", () => {
  it("is told after exactly its time, one after the other", () => {
    const { told, add } = start()
    add("a")
    vi.advanceTimersByTime(30)
    add("b")
    vi.advanceTimersByTime(69)
    expect(told).toEqual([])
    vi.advanceTimersByTime(1)
    expect(told).toEqual(["a"])
    vi.advanceTimersByTime(29)
    expect(told).toEqual(["a"])
    vi.advanceTimersByTime(1)
    expect(told).toEqual(["a", "b"])
  })

  it("is told nothing after it has left, and those beside it are told all the same", () => {
    const { list, told, add } = start()
    const [a, , c, d] = ["a", "b", "c", "d", "e"].map((name) => add(name))
    for (const waiting of [c, d, a]) list.remove(waiting as Waiting)
    vi.advanceTimersByTime(1_000)
    expect(told).toEqual(["b", "e"])
  })

  it("is told in time when all before it have left, however long the list was empty", () => {
    const { list, told, add } = start()
    list.remove(add("a"))
    vi.advanceTimersByTime(60)
    add("b")
    vi.advanceTimersByTime(99)
    expect(told).toEqual([])
    vi.advanceTimersByTime(1)
    expect(told).toEqual(["b"])
    vi.advanceTimersByTime(5_000)
    add("c")
    vi.advanceTimersByTime(100)
    expect(told).toEqual(["b", "c"])
  })

  it("may take others out, or in, when it is told", () => {
    const { list, told, add } = start()
    const later: Waiting[] = []
    add("a", () => {
      list.remove(later[0] as Waiting)
      add("c")
    })
    later.push(add("b"))
    vi.advanceTimersByTime(100)
    expect(told).toEqual(["a"])
    vi.advanceTimersByTime(100)
    expect(told).toEqual(["a", "c"])
  })
})
