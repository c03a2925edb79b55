import { setImmediate as turn } from "node:timers/promises"
import { describe, expect, it, vi } from "vitest"
import { ManualClock } from "../../testing/manual-clock.js"
import { Breaker, type BreakerOptions } from "./breaker.js"
import type { FailureKind } from "./store-failure.js"

type Server = "answers" | "refuses" | "silent"

/** A breaker in front of a server the test breaks and mends. */
function breakerFor(options: Partial<BreakerOptions> = {}) {
  const clock = new ManualClock()
  const scene = { server: "answers" as Server, probes: 0, underWay: 0, maxUnderWay: 0 }
  const changes: string[] = []
  const breaker = new Breaker({
    deadlineMs: 50,
    random: () => 0.999,
    timers: clock,
    onChange: ({ from, to }) => changes.push(`${from} → ${to}`),
    probe: async () => {
      scene.probes++
      scene.maxUnderWay = Math.max(scene.maxUnderWay, ++scene.underWay)
      // A silent server: given up after the deadline, like the socket would be.
      if (scene.server === "silent") clock.schedule(50, () => scene.underWay--)
      else scene.underWay--
      if (scene.server === "refuses") throw new Error("refused")
      if (scene.server === "silent") await new Promise(() => {})
    },
    ...options,
  })
  /** Lets time pass in steps of a millisecond, with everything that happens in it. */
  async function pass(ms: number): Promise<void> {
    for (let i = 0; i < ms; i++) {
      clock.advance(1)
      await turn()
      await turn()
    }
  }
  /** How long until a state is reached, at most `most`. */
  async function msUntil(state: string, most: number): Promise<number> {
    for (let ms = 0; ms <= most; ms++) {
      if (breaker.state === state) return ms
      await pass(1)
    }
    return Number.POSITIVE_INFINITY
  }
  return { breaker, changes, clock, msUntil, pass, scene }
}

async function opened(options: Partial<BreakerOptions> = {}) {
  const all = breakerFor(options)
  all.scene.server = "refuses"
  for (let i = 0; i < 3; i++) all.breaker.failed("timeout")
  expect(all.breaker.state).toBe("open")
  return all
}

describe("closed", () => {
  it("lets every call pass and starts no timer", () => {
    const { breaker, clock } = breakerFor()
    for (let i = 0; i < 100; i++) {
      expect(breaker.tryEnter()).toBe(true)
      breaker.succeeded()
    }
    expect(clock.pending).toBe(0)
  })

  it("opens after three failures in a row, and not before", () => {
    const { breaker } = breakerFor()
    breaker.failed("timeout")
    breaker.failed("timeout")
    breaker.succeeded()
    breaker.failed("timeout")
    breaker.failed("timeout")
    expect(breaker.state).toBe("closed")
    breaker.failed("timeout")
    expect(breaker.state).toBe("open")
  })

  it("opens after two refused or lost connections", () => {
    const { breaker } = breakerFor()
    breaker.failed("connection")
    expect(breaker.state).toBe("closed")
    breaker.failed("connection")
    expect(breaker.state).toBe("open")
  })

  it("opens when half of the last 20 calls failed, although others come through", () => {
    const { breaker } = breakerFor()
    for (let i = 0; i < 9; i++) {
      breaker.failed("timeout")
      breaker.succeeded()
    }
    expect(breaker.state).toBe("closed")
    breaker.failed("timeout")
    expect(breaker.state).toBe("open")
  })

  it("forgets failures that are more than 20 calls ago", () => {
    const { breaker } = breakerFor()
    for (let i = 0; i < 100; i++) {
      breaker.failed("timeout")
      breaker.succeeded()
      breaker.succeeded()
    }
    expect(breaker.state).toBe("closed")
  })

  it.each<FailureKind>(["wrong-type", "other", "breaker-open"])("never opens for %s", (kind) => {
    const { breaker, clock } = breakerFor()
    for (let i = 0; i < 100; i++) breaker.failed(kind)
    expect(breaker.state).toBe("closed")
    expect(clock.pending).toBe(0)
  })

  it.each<FailureKind>(["readonly", "loading", "cluster-down", "out-of-memory", "busy", "no-auth"])(
    "opens for %s, which every call would meet",
    (kind) => {
      const { breaker } = breakerFor()
      for (let i = 0; i < 3; i++) breaker.failed(kind)
      expect(breaker.state).toBe("open")
    },
  )
})

describe("after one failure without any traffic", () => {
  it.each([
    { server: "silent", deadlineMs: 50 },
    { server: "silent", deadlineMs: 500 },
    { server: "refuses", deadlineMs: 50 },
  ] as const)("opens within 250 ms when the server is $server at $deadlineMs ms", async (given) => {
    const { breaker, msUntil, scene } = breakerFor({ deadlineMs: given.deadlineMs })
    scene.server = given.server
    breaker.failed("timeout")
    expect(await msUntil("open", 1_000)).toBeLessThanOrEqual(250)
    breaker.close()
  })

  it("stays closed when the server answers the probe, and leaves no timer", async () => {
    const { breaker, clock, pass, scene } = breakerFor()
    breaker.failed("timeout")
    await pass(5)
    expect(scene.probes).toBe(1)
    expect(clock.pending).toBe(0)
    await pass(500)
    expect(breaker.state).toBe("closed")
    expect(scene.probes).toBe(1)
  })

  it("stays closed when a call succeeds meanwhile, and stops probing", async () => {
    const { breaker, clock, pass, scene } = breakerFor()
    scene.server = "silent"
    breaker.failed("timeout")
    await pass(60)
    breaker.succeeded()
    await pass(300)
    expect(breaker.state).toBe("closed")
    expect(clock.pending).toBe(0)
  })

  it("opens when every call fails, even if probes succeed", async () => {
    const { breaker, pass } = breakerFor()
    for (let i = 0; i < 2; i++) {
      breaker.failed("timeout")
      await pass(200)
      expect(breaker.state).toBe("closed")
    }
    breaker.failed("timeout")
    expect(breaker.state).toBe("open")
    breaker.close()
  })

  it("probes a server that now and then answers late at most every 100 ms", async () => {
    const { breaker, pass, scene } = breakerFor()
    for (let i = 0; i < 1_000; i++) {
      if (i % 5 === 0) breaker.failed("timeout")
      else breaker.succeeded()
      await pass(1)
    }
    expect(breaker.state).toBe("closed")
    expect(scene.probes).toBeLessThanOrEqual(11)
  })
})

describe("open", () => {
  it("refuses every call at once and probes one at a time, ever more rarely", async () => {
    const { breaker, pass, scene } = await opened()
    scene.server = "silent"
    await pass(1_000)
    const early = scene.probes
    await pass(5_000)
    const rate = (scene.probes - early) / 5
    expect(breaker.tryEnter()).toBe(false)
    expect(scene.maxUnderWay).toBe(1)
    expect(early).toBeGreaterThanOrEqual(2)
    // Up to 500 ms of pause and 50 ms of deadline.
    expect(rate).toBeGreaterThan(1.5)
    expect(rate).toBeLessThan(2.5)
    breaker.close()
  })

  it("keeps the load on a slow server below the load before", async () => {
    const { breaker, clock, pass, scene } = breakerFor({ random: Math.random })
    scene.server = "silent"
    let sent = 0
    // 1,000 calls in a second to a server that takes longer than the deadline.
    for (let i = 0; i < 1_000; i++) {
      if (breaker.tryEnter()) {
        sent++
        clock.schedule(50, () => breaker.failed("timeout"))
      }
      await pass(1)
    }
    expect(sent + scene.probes).toBeLessThan(100)
    breaker.close()
  })

  it("ignores answers of calls that were in progress when it opened", async () => {
    const { breaker, changes } = await opened()
    breaker.failed("timeout")
    breaker.succeeded()
    expect(breaker.state).toBe("open")
    expect(changes).toEqual(["closed → open"])
    breaker.close()
  })
})

describe("half-open", () => {
  async function halfOpen() {
    const all = await opened()
    all.scene.server = "answers"
    await all.msUntil("half-open", 1_000)
    return all
  }

  it("allows eight trial calls at once, and closes on the first success", async () => {
    const { breaker, changes, clock } = await halfOpen()
    const entered = Array.from({ length: 20 }, () => breaker.tryEnter())
    expect(entered.filter(Boolean)).toHaveLength(8)
    breaker.succeeded()
    expect(breaker.state).toBe("closed")
    expect(breaker.tryEnter()).toBe(true)
    expect(changes).toEqual(["closed → open", "open → half-open", "half-open → closed"])
    expect(clock.pending).toBe(0)
  })

  it("opens again with the first failure", async () => {
    const { breaker } = await halfOpen()
    expect(breaker.tryEnter()).toBe(true)
    breaker.failed("timeout")
    expect(breaker.state).toBe("open")
    expect(breaker.tryEnter()).toBe(false)
    breaker.close()
  })

  it("closes by itself when there is no traffic", async () => {
    const { breaker, clock, msUntil } = await halfOpen()
    expect(await msUntil("closed", 500)).toBeLessThanOrEqual(110)
    expect(breaker.state).toBe("closed")
    expect(clock.pending).toBe(0)
  })

  it("starts with a clean record once closed", async () => {
    const { breaker } = await halfOpen()
    breaker.succeeded()
    breaker.failed("timeout")
    breaker.failed("timeout")
    expect(breaker.state).toBe("closed")
  })

  it.each([0, 0.5, 0.999])("is reached well under 2 s after a long outage (jitter %d)", async (jitter) => {
    const { breaker, msUntil, pass, scene } = await opened({ random: () => jitter })
    scene.server = "silent"
    await pass(jitter === 0 ? 500 : 5_000)
    scene.server = "answers"
    expect(await msUntil("half-open", 2_000)).toBeLessThanOrEqual(600)
    breaker.close()
  })
})

describe("close", () => {
  it.each(["closed", "suspect", "open", "half-open"])("leaves no timer when %s", async (state) => {
    const { breaker, clock, msUntil, pass, scene } = breakerFor()
    scene.server = "silent"
    if (state !== "closed") breaker.failed("timeout")
    if (state === "open" || state === "half-open") await msUntil("open", 500)
    if (state === "half-open") {
      scene.server = "answers"
      await msUntil("half-open", 1_000)
    }
    breaker.close()
    // A probe under way ends by its deadline and is not followed by another.
    await pass(51)
    const { probes } = scene
    await pass(1_000)
    expect(clock.pending).toBe(0)
    expect(scene.probes).toBe(probes)
    expect(breaker.tryEnter()).toBe(false)
    breaker.failed("connection")
    breaker.failed("connection")
    expect(clock.pending).toBe(0)
  })
})

it("survives a probe that throws and a listener that throws", async () => {
  const warned = vi.spyOn(process, "emitWarning").mockImplementation(() => {})
  const { breaker, msUntil } = breakerFor({
    probe: () => {
      throw new Error("probe")
    },
    onChange: () => {
      throw new Error("listener")
    },
  })
  breaker.failed("timeout")
  expect(await msUntil("open", 300)).toBeLessThanOrEqual(250)
  expect(warned).toHaveBeenCalledExactlyOnceWith(expect.objectContaining({ message: "listener" }))
  warned.mockRestore()
  breaker.close()
})
