import type { Scheduler } from "fast-check"
import type { Verdict } from "../../algorithms/algorithm.js"
import { compilePolicy, type LimitOptions } from "../../policy.js"
import { ManualClock } from "../../testing/manual-clock.js"
import { StoreFailure } from "../fallback/store-failure.js"
import { type MemoryStore, memoryStore } from "../memory/memory-store.js"
import { type Charge, Namespace, type Store } from "../store.js"
import type { Group } from "./across.js"

export const T = Date.UTC(2026, 0, 1) * 1000
export const minutely = { algorithm: "fixed-window", limit: 10, window: "1m" } as const

/** A memory store whose clock stands at T, so that it forgets nothing however long a test takes. */
export function stillStore(): MemoryStore {
  return memoryStore({ clock: new ManualClock(T / 1000) })
}

/** A place with one key. */
export class Corner {
  readonly memory: Store
  place: Store
  readonly #namespace = new Namespace("across")
  readonly #policy
  readonly #key: string

  constructor(key: string, limit: LimitOptions = minutely, memory: Store = stillStore()) {
    this.#policy = compilePolicy(limit, "test")
    this.#key = key
    this.memory = memory
    this.place = memory
  }

  charge(cost = 1): Charge {
    return { namespace: this.#namespace, key: this.#key, policy: this.#policy, cost }
  }

  async take(cost: number, at: number | undefined = T): Promise<boolean> {
    return (await this.memory.check([this.charge(cost)], at)).allowed
  }

  async left(at: number | undefined = T): Promise<number> {
    return ((await this.memory.check([this.charge(0)], at)).verdicts[0] as Verdict).remaining
  }

  /** Names of the calls made from now on. */
  record(): string[] {
    const calls: string[] = []
    const { place } = this
    this.place = withMethods(place, {
      decide: (charges, at) => {
        calls.push("decide")
        return place.decide(charges, at)
      },
      check: (charges, at) => {
        calls.push("check")
        return place.check(charges, at)
      },
      refund: (charges, at) => {
        calls.push("refund")
        return place.refund(charges, at)
      },
    })
    return calls
  }

  /** Lets something happen just before a call of this kind is carried out. */
  before(method: "decide" | "check" | "refund", happens: () => Promise<unknown>): this {
    const { place } = this
    this.place = withMethods(place, {
      [method]: async (charges: Charge[], at?: number) => {
        await happens()
        return place[method](charges, at)
      },
    })
    return this
  }
}

/** One charge on each corner, in that order. */
export function together(corners: readonly Corner[], cost = 1): Group[] {
  return corners.map((corner, i) => ({
    place: corner.place,
    charges: [corner.charge(cost)],
    positions: [i],
  }))
}

export function corners(...limits: LimitOptions[]): Corner[] {
  return ["a", "b", "c"].map((key, i) => new Corner(key, limits[i]))
}

/** A store that does as the other one does, but for the methods given. */
export function withMethods(store: Store, methods: Partial<Store>): Store {
  return {
    check: (...args) => store.check(...args),
    decide: (...args) => store.decide(...args),
    checkMany: (...args) => store.checkMany(...args),
    charge: (...args) => store.charge(...args),
    refund: (...args) => store.refund(...args),
    settle: (...args) => store.settle(...args),
    reset: (...args) => store.reset(...args),
    mayBlock: (namespace) => store.mayBlock(namespace),
    close: () => store.close(),
    ...methods,
  }
}

/**
 * A store at the other end of a network whose timing the scheduler picks: every question and every answer travels, and any
 * other may overtake it. `fate` may lose the question or the answer.
 */
export function remoteStore(store: Store, scheduler: Scheduler, fate: () => Fate = () => "arrives"): Store {
  const travel = async <T>(name: string, call: () => Promise<T>): Promise<T> => {
    const what = fate()
    await scheduler.schedule(Promise.resolve(), `${name} asked`)
    if (what === "question lost") throw new StoreFailure("connection", "refused")
    const answer = await call()
    await scheduler.schedule(Promise.resolve(), `${name} answered`)
    if (what === "answer lost") throw new StoreFailure("timeout", "no answer", { ambiguous: true })
    return answer
  }
  return withMethods(store, {
    check: (charges, at) => travel("check", () => store.check(charges, at)),
    decide: (charges, at) => travel("decide", () => store.decide(charges, at)),
    checkMany: (checks) => travel("checkMany", () => store.checkMany(checks)),
    refund: (charges, at) => travel("refund", () => store.refund(charges, at)),
    settle: (settlements, at) => travel("settle", () => store.settle(settlements, at)),
  })
}

export type Fate = "arrives" | "question lost" | "answer lost"
