// Waits, delays, and clients that disconnect meanwhile.

import { expect, it } from "vitest"
import { eventually } from "../../../../../test/support/eventually.js"
import { createLimiter } from "../../limiter/limiter.js"
import { memoryStore } from "../../stores/memory/memory-store.js"
import type { Store } from "../../stores/store.js"
import { ManualClock } from "../../testing/manual-clock.js"
import { answerByPath, EXACT, HELLO, type Open, statuses } from "./adapter-app.test-support.js"

export function describeHolding(open: Open, seesAborts: boolean): void {
  const QUEUE = { algorithm: "leaky-bucket", overflow: "queue", limit: 10, window: "1s" } as const
  const timed = (): { clock: ManualClock; store: Store } => {
    const clock = new ManualClock()
    return { clock, store: memoryStore({ clock }) }
  }

  it("allows again exactly after retry-after", async () => {
    const { clock, store } = timed()
    const url = await open({ limit: 1, ...EXACT, clock, store })
    await fetch(url)
    const wait = Number((await fetch(url)).headers.get("retry-after"))
    clock.advance(wait * 1000 - 1)
    expect(await statuses(url, 1)).toEqual([429])
    clock.advance(1)
    expect(await statuses(url, 1)).toEqual([200])
  })

  it("delays requests of a queueing leaky bucket and starts them evenly spaced", async () => {
    const { clock, store } = timed()
    const starts: number[] = []
    const begun = clock.now()
    const url = await open({ ...QUEUE, clock, store }, () => {
      starts.push(clock.now() - begun)
      return HELLO
    })
    const answers = [1, 2, 3, 4].map(() => fetch(url))
    await eventually(() => starts.length === 1 && clock.pending === 3)
    for (let waiting = 2; waiting >= 0; waiting--) {
      clock.advance(99)
      expect(clock.pending).toBe(waiting + 1)
      clock.advance(1)
      await eventually(() => starts.length === 4 - waiting)
    }
    expect(starts).toEqual([0, 100, 200, 300])
    expect((await Promise.all(answers)).map((answer) => answer.status)).toEqual([200, 200, 200, 200])
  })

  it("holds a place of a concurrency limit until the answer is out, whatever the answer", async () => {
    const { clock, store } = timed()
    let finish = () => {}
    const url = await open({ algorithm: "concurrency", limit: 1, hold: "1h", clock, store }, async (path) => {
      if (path === "/slow") await new Promise<void>((resolve) => (finish = resolve))
      return answerByPath(path)
    })
    const slow = fetch(`${url}/slow`)
    await eventually(async () => (await fetch(url)).status === 429)
    const denied = await fetch(url)
    expect(denied.headers.get("retry-after")).toBe("3600")
    expect(denied.headers.get("ratelimit-policy")).toMatch(/^"[^"]+";q=1;qu="concurrent-requests"$/)
    finish()
    expect((await slow).status).toBe(200)
    for (const path of ["/404", "/throw", "/"]) {
      await eventually(async () => (await fetch(url + path)).status !== 429)
    }
  })

  it("denies a request when the delay queue is full, and refunds its charge", async () => {
    const { clock, store } = timed()
    const limiter = createLimiter({ ...QUEUE, clock, store })
    const url = await open({ ...QUEUE, clock, store, maxHeld: 1, key: () => "me" })
    await fetch(url)
    const held = fetch(url)
    await eventually(() => clock.pending === 1)
    const denied = await fetch(url)
    expect(denied.status).toBe(429)
    expect(denied.headers.get("retry-after")).toBe("1")
    await eventually(async () => (await limiter.peek("me")).remaining === 8)
    clock.advance(100)
    expect((await held).status).toBe(200)
    const next = fetch(url)
    await eventually(() => clock.pending === 1)
    clock.advance(100)
    expect((await next).status).toBe(200)
  })

  it("refunds a request that was delayed and then failed, with skipFailedRequests", async () => {
    const { clock, store } = timed()
    const limiter = createLimiter({ ...QUEUE, clock, store })
    const options = { ...QUEUE, clock, store, key: () => "me", skipFailedRequests: true }
    const url = await open(options, answerByPath)
    await fetch(url)
    const failing = fetch(`${url}/500`)
    await eventually(() => clock.pending === 1)
    expect((await limiter.peek("me")).remaining).toBe(8)
    clock.advance(100)
    expect((await failing).status).toBe(500)
    await eventually(async () => (await limiter.peek("me")).remaining === 10)
  })

  if (!seesAborts) return

  it("frees the place of a delayed client that disconnects, and never starts its request", async () => {
    const { clock, store } = timed()
    let starts = 0
    const url = await open({ ...QUEUE, clock, store }, () => {
      starts++
      return HELLO
    })
    await fetch(url)
    const leaving = new AbortController()
    const left = fetch(url, { signal: leaving.signal }).catch(() => "left")
    await eventually(() => clock.pending === 1)
    leaving.abort()
    expect(await left).toBe("left")
    await eventually(() => clock.pending === 0)
    const next = fetch(url)
    await eventually(() => clock.pending === 1)
    clock.advance(100)
    expect((await next).status).toBe(200)
    expect(starts).toBe(2)
  })

  it("refunds a request whose client disconnects before the response, with skipFailedRequests", async () => {
    const limiter = createLimiter({ limit: 5, ...EXACT })
    let release = (): void => undefined
    const released = new Promise<void>((resolve) => {
      release = resolve
    })
    let isStarted = false
    const url = await open({ limiter, key: () => "me", skipFailedRequests: true }, async () => {
      isStarted = true
      await released
      return HELLO
    })
    const leaving = new AbortController()
    const left = fetch(url, { signal: leaving.signal }).catch(() => "left")
    await eventually(() => isStarted)
    expect((await limiter.peek("me")).remaining).toBe(4)
    leaving.abort()
    await left
    await eventually(async () => (await limiter.peek("me")).remaining === 5)
    release()
    await fetch(url)
    expect((await limiter.peek("me")).remaining).toBe(4)
  })
}

export function describeHoldingInRealTime(open: Open, openStore: () => Promise<Store>): void {
  it("starts delayed requests no earlier than their turn", async () => {
    const starts: number[] = []
    const queue = { algorithm: "leaky-bucket", overflow: "queue", limit: 50, window: "1s" } as const
    const url = await open({ ...queue, store: await openStore() }, () => {
      starts.push(performance.now())
      return HELLO
    })
    const begun = performance.now()
    await Promise.all(Array.from({ length: 6 }, () => fetch(url)))
    expect(starts).toHaveLength(6)
    // The turns are 20 ms apart; the server's clock and ours differ by less than a turn of the event loop.
    starts.forEach((start, i) => {
      expect(start - begun).toBeGreaterThanOrEqual(i * 20 - 2)
    })
  })
}
