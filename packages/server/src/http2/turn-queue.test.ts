import { expect, it } from "vitest"
import { TurnQueue } from "./turn-queue.js"

/** Longer than a turn may be. */
function workLong(): void {
  for (const until = performance.now() + 6; performance.now() < until; );
}

it("yields to the event loop between long turns, and gives every member a turn before one gets a second", async () => {
  const queue = new TurnQueue()
  const seen: string[] = []
  const join = (name: string, times: number): void =>
    queue.wait(() => {
      seen.push(name)
      workLong()
      if (times > 1) join(name, times - 1)
    })
  for (const name of ["a", "b", "c"]) join(name, 2)
  const turns = async (): Promise<void> => {
    while (seen.filter((name) => name !== "turn").length < 6) {
      await new Promise(setImmediate)
      seen.push("turn")
    }
  }
  await turns()
  expect(seen.filter((name) => name !== "turn")).toEqual(["a", "b", "c", "a", "b", "c"])
  expect(seen.join(" ")).not.toMatch(/[abc] [abc]/)
})

it("runs short turns one after the other without a pause", async () => {
  const queue = new TurnQueue()
  const seen: string[] = []
  for (const name of ["a", "b", "c"]) queue.wait(() => seen.push(name))
  await new Promise(setImmediate)
  expect(seen).toEqual(["a", "b", "c"])
})

it("pauses after a long time of work until the next turn of the event loop", async () => {
  const queue = new TurnQueue()
  expect(queue.isOver).toBe(false)
  workLong()
  expect(queue.isOver).toBe(true)
  await new Promise(setImmediate)
  expect(queue.isOver).toBe(false)
})
