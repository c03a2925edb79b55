import fc from "fast-check"
import { describe, expect, it, vi } from "vitest"
import { compilePolicy, type LimitOptions } from "../../policy.js"
import { ManualClock } from "../../testing/manual-clock.js"
import { StoreFailure } from "../fallback/store-failure.js"
import { memoryStore } from "../memory/memory-store.js"
import { type Charge, Namespace, type Outcome, type Store } from "../store.js"
import { checkAcross, decideAcross, type Group, groupCharges } from "./across.js"
import {
  Corner,
  corners,
  minutely,
  remoteStore,
  stillStore,
  T,
  together,
  withMethods,
} from "./across.test-support.js"

async function failure(call: Promise<unknown>): Promise<unknown> {
  return call.then(
    () => "no failure",
    (error: unknown) => error,
  )
}

describe("the result", () => {
  it("keeps the order of the charges, however they are spread", async () => {
    const places = [stillStore(), stillStore()]
    const namespace = new Namespace("order")
    const charges = [5, 6, 7, 8, 9].map((limit, i) => ({
      namespace,
      key: `key ${i}`,
      policy: compilePolicy({ limit, window: "1m" }, "test"),
      cost: 1,
    }))
    const groups = groupCharges(charges, (charge) => places[charges.indexOf(charge) % 2] as Store)
    expect(groups.map((group) => group.positions)).toEqual([
      [0, 2, 4],
      [1, 3],
    ])
    const { allowed, verdicts } = await checkAcross(groups, T)
    expect(allowed).toBe(true)
    expect(verdicts.map((verdict) => verdict.remaining)).toEqual([4, 5, 6, 7, 8])
    const seen = await decideAcross(groups, T)
    expect(seen.verdicts.map((verdict) => verdict.remaining)).toEqual([4, 5, 6, 7, 8])
  })

  it("uses the given time on every node", async () => {
    const three = corners()
    const { now } = await checkAcross(together(three), T + 5)
    expect(now).toBe(T + 5)
    for (const corner of three) expect(await corner.left(T + 5)).toBe(9)
  })

  it("without a time uses the clock of each node, and returns the latest", async () => {
    const [early, late] = [new ManualClock(1_000_000), new ManualClock(9_000_000)]
    const groups = together([
      new Corner("a", minutely, memoryStore({ clock: late })),
      new Corner("b", minutely, memoryStore({ clock: early })),
    ])
    const { now, verdicts } = await checkAcross(groups)
    expect(now).toBe(9_000_000_000)
    // 1,000 s and 9,000 s are 20 s and 60 s before the end of a minute.
    expect(verdicts.map((verdict) => verdict.resetAfter)).toEqual([60e6, 20e6])
  })

  it("calls a single place once", async () => {
    const corner = new Corner("a")
    const calls = corner.record()
    await checkAcross(together([corner]), T)
    expect(calls).toEqual(["check"])
    await decideAcross(together([corner]), T)
    expect(calls).toEqual(["check", "decide"])
  })

  it("makes only a dry run where nothing is charged", async () => {
    const [payer, watched] = corners() as [Corner, Corner]
    const calls = [payer.record(), watched.record()]
    const groups = [...together([payer], 4), { ...(together([watched], 0)[0] as Group), positions: [1] }]
    const { allowed, verdicts } = await checkAcross(groups, T)
    expect({ allowed, left: verdicts.map((verdict) => verdict.remaining) }).toEqual({
      allowed: true,
      left: [6, 10],
    })
    expect(calls).toEqual([["decide", "check"], ["decide"]])
    expect((await checkAcross(together([payer, watched], 0), T)).allowed).toBe(true)
    expect(calls).toEqual([
      ["decide", "check", "decide"],
      ["decide", "decide"],
    ])
  })

  it("is degraded if the decision of one node is", async () => {
    const degraded = (store: Store, way: "deny" | "allow" | "local", allowed: boolean) => {
      const answer = async (charges: readonly Charge[], at?: number): Promise<Outcome> => {
        const outcome = await store.decide(charges, at)
        return { ...outcome, allowed: outcome.allowed && allowed, degraded: way }
      }
      return withMethods(store, { decide: answer, check: answer })
    }
    const three = corners()
    const [a, b] = three as [Corner, Corner]
    a.place = degraded(a.memory, "local", true)
    expect((await checkAcross(together(three), T)).degraded).toBe("local")
    b.place = degraded(b.memory, "allow", true)
    expect((await checkAcross(together(three), T)).degraded).toBe("allow")
    a.place = degraded(a.memory, "deny", false)
    expect(await checkAcross(together(three), T)).toMatchObject({ allowed: false, degraded: "deny" })
    // The third place denies: that is a decision of the store, whatever the others do.
    a.place = degraded(a.memory, "local", true)
    await three[2]?.take(8)
    expect(await checkAcross(together(three), T)).toMatchObject({ allowed: false, degraded: undefined })
  })
})

describe("a dry run that denies", () => {
  it.each([0, 1, 2])("touches nothing when place %i of three is full", async (full) => {
    const three = corners({ ...minutely, algorithm: "token-bucket" }, { ...minutely, limit: 20 })
    await three[full]?.take(await (three[full] as Corner).left())
    const before = await Promise.all(three.map((corner) => corner.left()))
    const calls = three.map((corner) => corner.record())
    for (let i = 0; i < 15; i++) {
      const { allowed, verdicts } = await checkAcross(together(three, 2), T)
      expect(allowed).toBe(false)
      expect(verdicts.map((verdict) => verdict.allowed)).toEqual([0, 1, 2].map((place) => place !== full))
      expect(verdicts.map((verdict) => verdict.remaining)).toEqual(before)
    }
    expect(new Set(calls.flat())).toEqual(new Set(["decide"]))
    expect(await Promise.all(three.map((corner) => corner.left()))).toEqual(before)
  })

  it("still ends the wait of a key whose clock was far ahead", async () => {
    const hour = 3_600e6
    for (const algorithm of ["fixed-window", "token-bucket", "sliding-window-log"] as const) {
      const two = corners({ ...minutely, algorithm }, minutely).slice(0, 2)
      await two[0]?.take(10, T + 24 * hour)
      const denied = await checkAcross(together(two), T)
      expect(denied.allowed).toBe(false)
      const wait = denied.verdicts[0]?.retryAfter as number
      expect(wait).toBeLessThanOrEqual(60e6)
      expect((await checkAcross(together(two), T + wait - 1)).allowed).toBe(false)
      expect((await checkAcross(together(two), T + wait)).allowed).toBe(true)
      expect(await two[1]?.left(T + wait)).toBe(9)
    }
  })

  it("refunds what settling such a key charged, if it was free by then", async () => {
    const two = corners().slice(0, 2)
    const [ahead] = two as [Corner]
    await ahead.take(10, T + 86_400e6)
    ahead.before("check", () => ahead.memory.reset([ahead.charge()]))
    expect((await checkAcross(together(two, 3), T)).allowed).toBe(false)
    expect(await Promise.all(two.map((corner) => corner.left()))).toEqual([10, 10])
  })
})

describe("a place that denies after all", () => {
  it("denies the check, and the others refund exactly what they charged", async () => {
    const three = corners(minutely, minutely, { ...minutely, algorithm: "gcra" })
    await three[0]?.take(4)
    three[1]?.before("check", () => (three[1] as Corner).take(8))
    const calls = three.map((corner) => corner.record())
    const { allowed, verdicts } = await checkAcross(together(three, 3), T)
    expect(allowed).toBe(false)
    expect(verdicts.map((verdict) => verdict.allowed)).toEqual([true, false, true])
    expect(verdicts[1]).toMatchObject({ remaining: 2, retryAfter: 60e6 })
    expect(verdicts.map((verdict) => verdict.remaining)).toEqual([6, 2, 10])
    expect(calls.map((list) => list.includes("refund"))).toEqual([true, false, true])
    expect(await Promise.all(three.map((corner) => corner.left()))).toEqual([6, 2, 10])
  })

  it("leaves others denied, but never admits too many, while units are held", async () => {
    const [a, b] = corners() as [Corner, Corner]
    const seen: boolean[] = []
    b.before("check", () => b.take(10))
    a.before("refund", async () => {
      // The check holds 6 of 10 now, and will be denied.
      seen.push(await a.take(5), await a.take(4), await a.take(1))
    })
    expect((await checkAcross(together([a, b], 6), T)).allowed).toBe(false)
    expect(seen).toEqual([false, true, false])
    expect(await a.left()).toBe(6)
  })

  it("lets two checks that want the same last units deny each other, and never admits both", async () => {
    const admitted = new Set<number>()
    await fc.assert(
      fc.asyncProperty(fc.scheduler(), async (scheduler) => {
        const two = corners().slice(0, 2)
        await Promise.all(two.map((corner) => corner.take(9)))
        for (const corner of two) corner.place = remoteStore(corner.memory, scheduler)
        const checks = Promise.all([
          checkAcross(together(two), T),
          checkAcross(together([...two].reverse()), T),
        ])
        const outcomes = await scheduler.waitFor(checks)
        const passed = outcomes.filter((outcome) => outcome.allowed).length
        admitted.add(passed)
        expect(passed).toBeLessThanOrEqual(1)
        for (const corner of two) expect(await corner.left()).toBe(1 - passed)
      }),
      { numRuns: 200, seed: 3 },
    )
    expect(admitted).toEqual(new Set([0, 1]))
  })

  it("does not refund a charge of 0", async () => {
    // The store is full and allows new keys: nothing is charged here.
    const full = memoryStore({ maxKeys: 1, onFull: "allow" })
    const [a, b] = [new Corner("a", minutely, full), new Corner("b")]
    await new Corner("hot", minutely, full).take(9)
    const calls = a.record()
    b.before("check", () => b.take(10))
    expect((await checkAcross(together([a, b]), T)).allowed).toBe(false)
    expect(calls).toEqual(["decide", "check"])
  })

  it("stays denied when the refund fails, with at most the cost left charged until it expires", async () => {
    const [a, b] = corners() as [Corner, Corner]
    b.before("check", () => b.take(10))
    a.before("refund", () => Promise.reject(new StoreFailure("connection", "gone")))
    expect((await checkAcross(together([a, b], 3), T)).allowed).toBe(false)
    expect(await a.left(T + 60e6 - 1)).toBe(7)
    expect(await a.left(T + 60e6)).toBe(10)
  })

  it("leaves at most the cost charged until it expires when the process dies before the refund", async () => {
    const [a, b] = corners({ ...minutely, algorithm: "sliding-window-log" }) as [Corner, Corner]
    b.before("check", () => b.take(10))
    let died = false
    a.before("refund", () => {
      died = true
      return new Promise(() => {})
    })
    void checkAcross(together([a, b], 3), T)
    await vi.waitFor(() => expect(died).toBe(true))
    expect(await a.left(T + 60e6 - 1)).toBe(7)
    expect(await a.left(T + 60e6)).toBe(10)
  })
})

describe("onStoreFailure of a check", () => {
  it("is passed to every place in every step", async () => {
    const told: string[] = []
    const two = corners().slice(0, 2)
    const [a, b] = two as [Corner, Corner]
    const { memory } = a
    a.place = withMethods(memory, {
      decide: (charges, at, way) => {
        told.push(`decide ${way}`)
        return memory.decide(charges, at)
      },
      check: (charges, at, way) => {
        told.push(`check ${way}`)
        return memory.check(charges, at)
      },
      refund: (charges, at, way) => {
        told.push(`refund ${way}`)
        return memory.refund(charges, at)
      },
    })
    b.before("check", () => b.take(10))
    await checkAcross(together(two), T, "deny")
    expect(told).toEqual(["decide deny", "check deny", "refund deny"])
    await decideAcross(together(two), T, "allow")
    await decideAcross(together([a]), T, "local")
    await checkAcross(together([a]), T, "local")
    expect(told.slice(3)).toEqual(["decide allow", "decide local", "check local"])
  })
})

describe("time that passes before the refund", () => {
  /** A check of 2 units on a clock that moves before each step; another check takes 3 just before the refund. */
  async function overtime(before: { check: number; refund: number }, limit: LimitOptions = minutely) {
    // 5 ms before the end of a minute.
    const clock = new ManualClock(59_995)
    const a = new Corner("a", limit, memoryStore({ clock }))
    const b = new Corner("b", minutely, memoryStore({ clock }))
    a.before("check", async () => clock.advance(before.check))
    b.before("check", async () => b.memory.charge([b.charge(10)]))
    let refunded = false
    a.before("refund", async () => {
      refunded = true
      clock.advance(before.refund)
      await a.memory.check([a.charge(3)])
    })
    expect((await checkAcross(together([a, b], 2))).allowed).toBe(false)
    if (!refunded) {
      clock.advance(before.refund)
      await a.memory.check([a.charge(3)])
    }
    const { verdicts } = await a.memory.check([a.charge(0)])
    return { refunded, left: verdicts[0]?.remaining }
  }

  it("does not refund units that will have expired", async () => {
    // The window ends 1 ms after the check, and a round trip takes 4: the 3 units of the next window are not touched.
    expect(await overtime({ check: 4, refund: 4 })).toEqual({ refunded: false, left: 7 })
  })

  it("refunds units that will still count", async () => {
    expect(await overtime({ check: 1, refund: 1 })).toEqual({ refunded: true, left: 7 })
  })

  it("takes at most the cost from others when a refund comes late", async () => {
    expect(await overtime({ check: 1, refund: 50 })).toEqual({ refunded: true, left: 9 })
  })

  it("takes from others at most what drained of a bucket meanwhile", async () => {
    // One unit drains in 100 ms, so 1 of the 2 held has left, and one of the 3 goes for it.
    const bucket = { algorithm: "token-bucket", limit: 10, window: "1s" } as const
    expect(await overtime({ check: 1, refund: 1 }, bucket)).toEqual({ refunded: true, left: 7 })
    expect(await overtime({ check: 1, refund: 100 }, bucket)).toEqual({ refunded: true, left: 8 })
  })
})

describe("a place that fails", () => {
  const refused = new StoreFailure("connection", "refused")
  const silent = new StoreFailure("timeout", "no answer", { ambiguous: true })

  it("in the dry run: fails the check at once, with nothing charged", async () => {
    const three = corners()
    three[1]?.before("decide", () => Promise.reject(refused))
    three[2]?.before("decide", () => new Promise(() => {}))
    const calls = three.map((corner) => corner.record())
    expect(await failure(checkAcross(together(three), T))).toBe(refused)
    expect(calls).toEqual([["decide"], ["decide"], ["decide"]])
    expect(await Promise.all(three.map((corner) => corner.left()))).toEqual([10, 10, 10])
  })

  it("in the dry run, by throwing: leaves no rejection unhandled", async () => {
    const unhandled = vi.fn()
    process.on("unhandledRejection", unhandled)
    const three = corners()
    three[0]?.before("decide", () => Promise.reject(silent))
    three[1]?.before("decide", () => Promise.reject(refused))
    ;(three[2] as Corner).place = withMethods(stillStore(), {
      decide: () => {
        throw refused
      },
    })
    expect(await failure(checkAcross(together(three), T))).toBeInstanceOf(StoreFailure)
    expect(await failure(decideAcross(together(three), T))).toBeInstanceOf(StoreFailure)
    await new Promise((resolve) => setImmediate(resolve))
    process.off("unhandledRejection", unhandled)
    expect(unhandled).not.toHaveBeenCalled()
  })

  it("in the check: fails it after the others have refunded their charges", async () => {
    const three = corners()
    three[1]?.before("check", () => Promise.reject(refused))
    expect(await failure(checkAcross(together(three, 4), T))).toBe(refused)
    expect(await Promise.all(three.map((corner) => corner.left()))).toEqual([10, 10, 10])
  })

  it("in the check, after charging: keeps that charged until it expires, and no more than that", async () => {
    const three = corners()
    const [, mute] = three as [Corner, Corner]
    const { memory } = mute
    const calls = mute.record()
    const { place } = mute
    mute.place = withMethods(place, {
      check: async (charges, at) => {
        await place.check(charges, at)
        throw silent
      },
    })
    await mute.take(2)
    expect(await failure(checkAcross(together(three, 4), T))).toBe(silent)
    expect(calls).toEqual(["decide", "check"])
    expect(await Promise.all(three.map((corner) => corner.left()))).toEqual([10, 4, 10])
    expect((await memory.check([mute.charge(10)], T + 60e6)).allowed).toBe(true)
  })

  it("in the check, while another denies: is still a failure", async () => {
    const three = corners()
    three[0]?.before("check", () => (three[0] as Corner).take(10))
    three[1]?.before("check", () => Promise.reject(refused))
    expect(await failure(checkAcross(together(three), T))).toBe(refused)
    expect(await Promise.all(three.map((corner) => corner.left()))).toEqual([0, 10, 10])
  })

  it("with others: the ambiguous failure is thrown", async () => {
    const three = corners()
    three[0]?.before("check", () => Promise.reject(refused))
    three[2]?.before("check", () => Promise.reject(silent))
    expect(await failure(checkAcross(together(three), T))).toBe(silent)
  })
})
