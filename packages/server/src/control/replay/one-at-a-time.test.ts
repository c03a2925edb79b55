import { setTimeout as sleep } from "node:timers/promises"
import { expect, it } from "vitest"
import { OneAtATime } from "./one-at-a-time.js"

const busy = () => new Error("busy")
const never = new AbortController().signal

/** A task that ends when it is told to. */
function task() {
  let end = () => {}
  const ended = new Promise<void>((resolve) => {
    end = resolve
  })
  return { end: () => end(), run: () => ended }
}

it("refuses a second task after a short wait for the first", async () => {
  const slot = new OneAtATime(busy, 10)
  const first = task()
  const running = slot.run(never, first.run)
  await expect(slot.run(never, async () => 2)).rejects.toThrow("busy")
  first.end()
  await running
  expect(await slot.run(never, async () => 3)).toBe(3)
})

it("waits longer for a cancelled task than for a running one", async () => {
  const slot = new OneAtATime(busy, 10)
  const first = task()
  const gone = new AbortController()
  const running = slot.run(gone.signal, first.run)
  gone.abort()
  const second = slot.run(never, async () => "second")
  // As a thread may take on a busy machine.
  await sleep(100)
  first.end()
  await running
  expect(await second).toBe("second")
})

it("runs the next task when the first is cancelled meanwhile, and when it fails", async () => {
  const slot = new OneAtATime(busy, 60_000)
  const gone = new AbortController()
  const first = slot.run(
    gone.signal,
    () => new Promise((_, reject) => gone.signal.addEventListener("abort", () => reject(new Error("gone")))),
  )
  first.catch(() => {})
  const second = slot.run(never, async () => "second")
  gone.abort()
  expect(await second).toBe("second")
  await expect(first).rejects.toThrow("gone")
})

it("does not start a task whose client left while it waited", async () => {
  const slot = new OneAtATime(busy, 60_000)
  const first = task()
  const running = slot.run(never, first.run)
  const gone = new AbortController()
  let begun = false
  const second = slot.run(gone.signal, async () => {
    begun = true
  })
  gone.abort()
  first.end()
  await running
  await expect(second).rejects.toThrow("aborted")
  expect(begun).toBe(false)
})
