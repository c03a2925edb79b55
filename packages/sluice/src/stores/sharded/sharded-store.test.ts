import { describe, expect, it } from "vitest"
import { blockPolicy } from "../../algorithms/block.js"
import { type ErrorCode, SluiceError } from "../../errors.js"
import { createLimiter } from "../../limiter/limiter.js"
import { compilePolicy } from "../../policy.js"
import { describeStoreContract } from "../../testing/contract/store-contract.js"
import { ManualClock } from "../../testing/manual-clock.js"
import { StoreFailure } from "../fallback/store-failure.js"
import { StoreGuard } from "../fallback/store-guard.js"
import { memoryStore } from "../memory/memory-store.js"
import { type Charge, Namespace, type Store } from "../store.js"
import { stillStore, T, withMethods } from "./across.test-support.js"
import { type ShardedNode, shardedStore } from "./sharded-store.js"

describeStoreContract({
  name: "a ring of three memory stores",
  open: () => shardedStore([stillStore(), stillStore(), stillStore()]),
  describe,
  it,
})

const namespace = new Namespace("sharded")
const policy = compilePolicy({ algorithm: "token-bucket", limit: 10, window: "1m" }, "test")

function charge(key: string, cost = 1): Charge {
  return { namespace, key, policy, cost }
}

function ring(...names: string[]): ShardedNode[] {
  return names.map((name) => ({ name, store: stillStore() }))
}

/** The first key of each node, and how to ask what is left of a key. */
function laidOut(nodes: ShardedNode[]) {
  const store = shardedStore(nodes)
  const keyOn = (name: string, nth = 0) => {
    for (let i = 0; ; i++) if (store.nodeOf(`key ${i}`) === name && nth-- === 0) return `key ${i}`
  }
  const left = async (...keys: string[]) =>
    Promise.all(keys.map(async (key) => (await store.check([charge(key, 0)], T)).verdicts[0]?.remaining))
  return { store, keyOn, left }
}

const down = new StoreFailure("connection", "refused")

function dead(): Store {
  const fail = async () => {
    throw down
  }
  return withMethods(stillStore(), {
    check: fail,
    decide: fail,
    checkMany: fail,
    charge: fail,
    refund: fail,
    reset: fail,
  })
}

describe("the node of a key", () => {
  it("does not depend on the order of the nodes, nor on the instance", () => {
    const [a, b] = [shardedStore(ring("a", "b", "c")), shardedStore(ring("c", "a", "b"))]
    const keys = Array.from({ length: 1_000 }, (_, i) => `key ${i}`)
    expect(keys.map((key) => a.nodeOf(key))).toEqual(keys.map((key) => b.nodeOf(key)))
    expect(new Set(keys.map((key) => a.nodeOf(key)))).toEqual(new Set(["a", "b", "c"]))
  })

  it("is the same for all limits of a key, so that one node decides them together", async () => {
    const nodes = ring("a", "b", "c")
    const counted = nodes.map(() => 0)
    const watched = nodes.map((node, i) => ({
      ...node,
      store: withMethods(node.store, {
        check: (charges, at) => {
          counted[i] = (counted[i] as number) + 1
          return node.store.check(charges, at)
        },
        decide: () => Promise.reject(new Error("no dry run is needed")),
      }),
    }))
    const store = shardedStore(watched)
    for (let i = 0; i < 30; i++) {
      const charges = ["minute", "hour", "day"].map((name) => ({
        ...charge(`key ${i}`),
        namespace: new Namespace(name),
      }))
      expect((await store.check(charges, T)).verdicts.map((verdict) => verdict.remaining)).toEqual([9, 9, 9])
    }
    expect(counted.reduce((sum, count) => sum + count)).toBe(30)
    expect(Math.min(...counted)).toBeGreaterThan(0)
  })

  it("names plain stores by their place", () => {
    const plain = shardedStore([stillStore(), stillStore(), stillStore()])
    const named = shardedStore(ring("0", "1", "2"))
    for (let i = 0; i < 100; i++) expect(plain.nodeOf(`key ${i}`)).toBe(named.nodeOf(`key ${i}`))
  })

  it("follows weights and the number of virtual nodes", () => {
    const share = (store: { nodeOf(key: string): string }) =>
      Array.from({ length: 10_000 }, (_, i) => store.nodeOf(`key ${i}`)).filter((name) => name === "a").length
    const [a, b] = ring("a", "b") as [ShardedNode, ShardedNode]
    expect(share(shardedStore([{ ...a, weight: 3 }, b])) / 10_000).toBeCloseTo(0.75, 1)
    expect(share(shardedStore([a, b], { virtualNodes: 4_096 })) / 10_000).toBeCloseTo(0.5, 1)
  })
})

describe("charges over several nodes", () => {
  it.each(["a", "b", "c"])("drain nothing when the one on node %s denies", async (full) => {
    const { store, keyOn, left } = laidOut(ring("a", "b", "c"))
    const keys = ["a", "b", "c"].map((name) => keyOn(name))
    await store.check([charge(keyOn(full), 10)], T)
    for (let i = 0; i < 15; i++) {
      const { allowed, verdicts } = await store.check(
        keys.map((key) => charge(key, 2)),
        T,
      )
      expect(allowed).toBe(false)
      expect(verdicts.map((verdict) => verdict.allowed)).toEqual(keys.map((key) => key !== keyOn(full)))
    }
    expect(await left(...keys)).toEqual(keys.map((key) => (key === keyOn(full) ? 0 : 10)))
  })

  it("are charged, refunded, reset and decided on all of them", async () => {
    const { store, keyOn, left } = laidOut(ring("a", "b"))
    const keys = [keyOn("a"), keyOn("b"), keyOn("a", 1)]
    const all = (cost: number) => keys.map((key) => charge(key, cost))
    await store.charge(all(6), T)
    expect(await left(...keys)).toEqual([4, 4, 4])
    const looked = await store.decide(all(5), T)
    expect({ allowed: looked.allowed, left: looked.verdicts.map((verdict) => verdict.remaining) }).toEqual({
      allowed: false,
      left: [4, 4, 4],
    })
    await store.refund(all(2), T)
    expect(await left(...keys)).toEqual([6, 6, 6])
    await store.reset([charge(keys[1] as string)])
    expect(await left(...keys)).toEqual([6, 10, 6])
  })

  it("may be an empty list", async () => {
    const store = shardedStore(ring("a", "b"))
    const nothing = { allowed: true, now: T, verdicts: [], degraded: undefined }
    expect(await store.check([], T)).toEqual(nothing)
    expect(await store.decide([], T)).toEqual(nothing)
    expect(await store.checkMany([{ charges: [], at: T }])).toEqual([nothing])
    await Promise.all([store.charge([], T), store.refund([], T), store.reset([])])
  })
})

describe("a dead node", () => {
  it("fails the checks that touch it and no others", async () => {
    const [a, c] = ring("a", "c") as [ShardedNode, ShardedNode]
    const { store, keyOn, left } = laidOut([a, { name: "b", store: dead() }, c])
    expect((await store.check([charge(keyOn("a"))], T)).allowed).toBe(true)
    expect((await store.check([charge(keyOn("a")), charge(keyOn("c"))], T)).allowed).toBe(true)
    await expect(store.check([charge(keyOn("b"))], T)).rejects.toBe(down)
    await expect(store.check([charge(keyOn("a")), charge(keyOn("b"))], T)).rejects.toBe(down)
    expect(await left(keyOn("a"), keyOn("c"))).toEqual([8, 9])
  })

  it("fails a list of checks after the others were decided", async () => {
    const [a, c] = ring("a", "c") as [ShardedNode, ShardedNode]
    const { store, keyOn, left } = laidOut([a, { name: "b", store: dead() }, c])
    const checks = ["a", "b", "c"].map((name) => ({ charges: [charge(keyOn(name))], at: T }))
    await expect(store.checkMany(checks)).rejects.toBe(down)
    expect(await left(keyOn("a"), keyOn("c"))).toEqual([9, 9])
  })

  it("with its own guard degrades its share of a list and no more", async () => {
    const [a, c] = ring("a", "c") as [ShardedNode, ShardedNode]
    const guarded = new StoreGuard(dead())
    const { store, keyOn, left } = laidOut([a, { name: "b", store: guarded }, c])
    const [x, y, z] = [keyOn("a"), keyOn("b"), keyOn("c")]
    const checks = [[x], [y], [x, y], [x, z], [z]].map((keys) => ({
      charges: keys.map((key) => charge(key)),
      at: T,
    }))
    for (const way of ["allow", "deny", "local"] as const) {
      const outcomes = await store.checkMany(checks, way)
      expect(outcomes.map(({ degraded }) => degraded)).toEqual([undefined, way, way, undefined, undefined])
      expect(outcomes.map(({ allowed }) => allowed)).toEqual([
        true,
        way !== "deny",
        way !== "deny",
        true,
        true,
      ])
    }
    // Three lists; the check over both nodes took nothing when the dead one denied.
    expect(await left(x, z)).toEqual([2, 4])
    await guarded.close()
  })

  it("gets onStoreFailure in every call", async () => {
    const told: string[] = []
    const node = stillStore()
    const watched = withMethods(node, {
      check: (charges, at, way) => {
        told.push(`check ${way}`)
        return node.check(charges, at)
      },
      decide: (charges, at, way) => {
        told.push(`decide ${way}`)
        return node.decide(charges, at)
      },
      checkMany: (checks, way) => {
        told.push(`checkMany ${way}`)
        return node.checkMany(checks)
      },
      charge: async (_charges, _at, way) => void told.push(`charge ${way}`),
      refund: async (_charges, _at, way) => void told.push(`refund ${way}`),
      reset: async (_charges, way) => void told.push(`reset ${way}`),
    })
    const { store, keyOn } = laidOut([{ name: "a", store: watched }, ...ring("b")])
    const one = [charge(keyOn("a"))]
    await store.check(one, T, "allow")
    await store.decide(one, T, "allow")
    await store.checkMany([{ charges: one, at: T }], "allow")
    await store.charge(one, T, "allow")
    await store.refund(one, T, "allow")
    await store.reset(one, "allow")
    const calls = ["check", "decide", "checkMany", "charge", "refund", "reset"]
    expect(told).toEqual(calls.map((name) => `${name} allow`))
    await store.check([...one, charge(keyOn("b"))], T, "deny")
    expect(told.slice(6)).toEqual(["decide deny", "check deny"])
  })

  it("does not prevent charge, refund and reset on the others", async () => {
    const [a] = ring("a") as [ShardedNode]
    const { store, keyOn, left } = laidOut([{ name: "b", store: dead() }, a])
    const both = (cost: number) => [charge(keyOn("b"), cost), charge(keyOn("a"), cost)]
    await expect(store.charge(both(5), T)).rejects.toBe(down)
    expect(await left(keyOn("a"))).toEqual([5])
    await expect(store.refund(both(2), T)).rejects.toBe(down)
    expect(await left(keyOn("a"))).toEqual([7])
    await expect(store.reset(both(1))).rejects.toBe(down)
    expect(await left(keyOn("a"))).toEqual([10])
  })
})

describe("the store as a whole", () => {
  it("may block when any node may", async () => {
    const { store, keyOn } = laidOut(ring("a", "b", "c"))
    expect(store.mayBlock(namespace)).toBe(false)
    await store.charge([{ namespace, key: keyOn("c"), policy: blockPolicy, cost: 3_600e6 }])
    expect(store.mayBlock(namespace)).toBe(true)
    expect(store.mayBlock(new Namespace("other"))).toBe(false)
  })

  it("has the breakers of all nodes that have any", () => {
    const nodes = [["open", "closed"], undefined, ["closed"]].map((breakers) =>
      breakers === undefined ? stillStore() : Object.assign(stillStore(), { breakers }),
    )
    expect(shardedStore(nodes).breakers).toEqual(["open", "closed", "closed"])
  })

  it("is shared by as many instances as any node knows of", () => {
    const nodes = [3, undefined, 5, 4].map((instances) =>
      withMethods(stillStore(), instances === undefined ? {} : { instances }),
    )
    expect(shardedStore(nodes).instances).toBe(5)
    expect(shardedStore(ring("a", "b")).instances).toBe(1)
  })

  it("closes every node, and names each that failed to close", async () => {
    const closed: string[] = []
    const node = (name: string, fails: boolean): ShardedNode => ({
      name,
      store: withMethods(stillStore(), {
        close: async () => {
          closed.push(name)
          if (fails) throw new Error(`${name} will not close`)
        },
      }),
    })
    await expect(shardedStore([node("a", true), node("b", false)]).close()).rejects.toThrow(
      "a will not close",
    )
    const two = shardedStore([node("c", true), node("d", false), node("e", true)])
    await expect(two.close()).rejects.toThrow(
      expect.objectContaining({
        message: "shardedStore: c, e failed to close",
        errors: [new Error("c will not close"), new Error("e will not close")],
      }),
    )
    expect(closed).toEqual(["a", "b", "c", "d", "e"])
    await expect(two.check([charge("key")])).rejects.toThrow(
      expect.objectContaining({ code: "STORE_CLOSED" }),
    )
    await expect(two.checkMany([])).rejects.toThrow(expect.objectContaining({ code: "STORE_CLOSED" }))
  })

  it("carries a limiter", async () => {
    const clock = new ManualClock()
    const store = shardedStore([memoryStore({ clock }), memoryStore({ clock })])
    const limiter = createLimiter({ limit: 2, window: "1m", store })
    const decisions = await limiter.checkMany(["a", "b", "a", "c", "a"].map((key) => ({ key })))
    expect(decisions.map(({ allowed }) => allowed)).toEqual([true, true, true, true, false])
    expect(await limiter.refund("a")).toMatchObject({ remaining: 1 })
    await limiter.block("b", "10s")
    expect(await limiter.check("b")).toMatchObject({ allowed: false, deniedBy: "block" })
  })
})

describe("options", () => {
  const store = stillStore()
  const mistakes: [what: string, make: () => unknown, code: ErrorCode, place: string][] = [
    ["no list", () => shardedStore({} as never), "OPTION_TYPE", "shardedStore.nodes"],
    ["no nodes", () => shardedStore([]), "OPTION_MISSING", "shardedStore.nodes"],
    ["no object", () => shardedStore(["a"] as never), "OPTION_TYPE", "shardedStore.nodes[0]"],
    ["no name", () => shardedStore([{ store }] as never), "OPTION_MISSING", "shardedStore.nodes[0].name"],
    [
      "no store",
      () => shardedStore([{ name: "a" }] as never),
      "OPTION_MISSING",
      "shardedStore.nodes[0].store",
    ],
    ["an empty name", () => shardedStore([{ name: "", store }]), "OPTION_TYPE", "shardedStore.nodes[0].name"],
    [
      "a number",
      () => shardedStore([{ name: 1 as never, store }]),
      "OPTION_TYPE",
      "shardedStore.nodes[0].name",
    ],
    [
      "something else than a store",
      () => shardedStore([{ name: "a", store: { check() {} } as never }]),
      "OPTION_TYPE",
      "shardedStore.nodes[0].store",
    ],
    [
      "a misspelt field",
      () => shardedStore([{ name: "a", store, wieght: 2 } as never]),
      "OPTION_UNKNOWN",
      "shardedStore.nodes[0].wieght",
    ],
    ...[0, -1, 101, Number.NaN, "2"].map((weight): (typeof mistakes)[number] => [
      `a weight of ${weight}`,
      () => shardedStore([{ name: "a", store, weight: weight as number }]),
      "OPTION_TYPE",
      "shardedStore.nodes[0].weight",
    ]),
    [
      "a name twice",
      () => shardedStore([...ring("a", "b"), ...ring("a")]),
      "OPTION_CONFLICT",
      "shardedStore.nodes[2].name",
    ],
    ["a store twice", () => shardedStore([store, store]), "OPTION_CONFLICT", "shardedStore.nodes[1].store"],
    ...[0, 1.5, 16_385, "512"].map((virtualNodes): (typeof mistakes)[number] => [
      `${virtualNodes} virtual nodes`,
      () => shardedStore([store], { virtualNodes: virtualNodes as number }),
      "OPTION_TYPE",
      "shardedStore.virtualNodes",
    ]),
    [
      "an unknown option",
      () => shardedStore([store], { replicas: 3 } as never),
      "OPTION_UNKNOWN",
      "shardedStore.replicas",
    ],
  ]

  it.each(mistakes)("%s: refused", (_, make, code, place) => {
    expect(make).toThrow(SluiceError)
    expect(make).toThrow(expect.objectContaining({ code, place }))
  })
})
