// Lists of charges that no limiter makes, thrown at the store interface: memory, a server, a ring and a Cluster give the same
// answers, or the same typed error.

import fc from "fast-check"
import type { Charge, Outcome, Settlement, Store } from "sluice"
import { memoryStore } from "sluice"
import { Namespace } from "sluice/internal"
import { redisStore, shardedStore } from "sluice/redis"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { blockPolicy } from "../../packages/sluice/src/algorithms/block.js"
import { compilePolicy } from "../../packages/sluice/src/policy.js"
import { variants } from "../../packages/sluice/src/testing/contract/policies.js"
import { type OpenClient, openCluster, openSingle } from "../redis/clients.js"
import { PATIENT } from "../redis/contract.js"
import { type RedisCluster, startCluster } from "../support/redis/cluster.js"
import { type RedisRing, startRing } from "../support/redis/ring.js"
import { describe as told } from "./play.js"

const START = Date.UTC(2026, 0, 1) * 1000
const RUNS = 60

let cluster: RedisCluster
let ring: RedisRing
const opened: OpenClient[] = []
const stores = new Map<string, Store>()
const failures: unknown[] = []

beforeAll(async () => {
  ;[cluster, ring] = await Promise.all([startCluster(), startRing(2)])
  const options = {
    ...PATIENT,
    expiryBuffer: "1d",
    heartbeat: 0,
    onFailure: (event: unknown) => failures.push(event),
  }
  const single = async (index: number) => {
    const client = await openSingle("ioredis", ring.servers[index] as (typeof ring.servers)[0])
    opened.push(client)
    return redisStore(client.client, options)
  }
  stores.set("a server", await single(0))
  stores.set("a ring", shardedStore([await single(0), await single(1)]))
  const clustered = await openCluster("ioredis", cluster)
  opened.push(clustered)
  stores.set("a Cluster", redisStore(clustered.client, options))
}, 60_000)
afterAll(async () => {
  for (const store of stores.values()) await store.close()
  for (const client of opened) await client.close()
  await Promise.all([cluster.stop(), ring.stop()])
})

const policies = [...variants.map(({ limit }) => compilePolicy(limit, "junk")), blockPolicy]

interface JunkCharge {
  readonly policy: number
  readonly key: string
  readonly cost: number
}
interface JunkCall {
  readonly call: "check" | "decide" | "checkMany" | "charge" | "refund" | "settle" | "reset"
  readonly lists: readonly (readonly JunkCharge[])[]
  readonly after: number
}

const charge: fc.Arbitrary<JunkCharge> = fc.record({
  policy: fc.nat({ max: policies.length - 1 }),
  key: fc.constantFrom("a", "b", "c", "{a}", "", "\u0000", "a b%7b"),
  cost: fc.constantFrom(0, 0, 1, 1, 2, 3, 10, 11, 91, 2 ** 31, Number.MAX_SAFE_INTEGER),
})
const list = fc.oneof(
  { weight: 1, arbitrary: fc.constant([]) },
  { weight: 4, arbitrary: fc.array(charge, { maxLength: 7 }) },
)
const steps = [0, 0, 1, 1_000_000, 59_999_999, 60_000_000, 200_000_000, -1, -30_000_000]
/** More than a window back. On one server a denied check brings a state from a clock that was so far ahead back to now. */
const FAR_BACK = -400_000_000

const calls = (after: readonly number[]): fc.Arbitrary<JunkCall[]> =>
  fc.array(
    fc.record({
      call: fc.constantFrom("check", "check", "checkMany", "decide", "charge", "refund", "settle", "reset"),
      lists: fc.array(list, { maxLength: 5 }),
      after: fc.constantFrom(...after),
    }),
    { maxLength: 10 },
  )

/** Everything a store answers to the calls, one after the other. */
async function answersOf(store: Store, calls: readonly JunkCall[], name: string): Promise<string[]> {
  // A namespace for each key: memory may forget an expired key when another comes in its namespace, and then the clock may step back.
  const namespaces = new Map<string, Namespace>()
  const namespaceOf = (policy: number, key: string): Namespace => {
    const id = `${name}:${policy}:${key}`
    const namespace = namespaces.get(id) ?? new Namespace(id)
    namespaces.set(id, namespace)
    return namespace
  }
  const chargesOf = (list: readonly JunkCharge[], call: JunkCall["call"]): Charge[] =>
    list.map(({ policy, key, cost }) => ({
      namespace: namespaceOf(policy, key),
      key,
      policy: policies[policy] as Charge["policy"],
      // What is charged without asking may not go beyond what a log can count, and nobody asks for a block by a check.
      cost:
        policy === policies.length - 1 && call !== "charge"
          ? 0
          : call === "charge"
            ? Math.min(cost, 2 ** 31)
            : cost,
    }))
  /** A correction by the cost, of rates only: what nobody holds cannot be released, and a block is not settled. */
  const settlementsOf = (charges: readonly Charge[], at: number): Settlement[] =>
    charges
      .filter(
        ({ policy, cost }) => cost > 0 && policy !== blockPolicy && policy.algorithm.holds === undefined,
      )
      .map((charge) => {
        const correction = (["refund", "charge", "fill"] as const)[charge.cost % 3] ?? "refund"
        const chargedAt = charge.cost % 2 === 0 ? at - 1_000_000 : undefined
        return { ...charge, cost: Math.min(charge.cost, 2 ** 31), correction, chargedAt }
      })
  const answers: string[] = []
  let at = START
  for (const { call, lists, after } of calls) {
    at += after
    const all = lists.map((list) => chargesOf(list, call))
    try {
      if (call === "checkMany") {
        const outcomes = await store.checkMany(all.map((charges) => ({ charges, at })))
        answers.push(outcomes.map(told).join(" / "))
        continue
      }
      for (const charges of all) {
        if (call === "settle") {
          answers.push((await store.settle(settlementsOf(charges, at), at)).result)
          continue
        }
        const outcome = call === "reset" ? await store.reset(charges) : await store[call](charges, at)
        answers.push(outcome === undefined ? "done" : told(outcome as Outcome))
      }
    } catch (error) {
      answers.push(`${(error as Error).name} ${(error as { code?: string }).code}`)
    }
  }
  return answers
}

describe.each([
  ["a server", [...steps, FAR_BACK]],
  // Across servers and slots a check that is denied writes nothing, so it cannot bring such a state back.
  ["a ring", steps],
  ["a Cluster", steps],
] as const)("%s", (name, after) => {
  it("answers any list of charges as memory does", { timeout: 120_000 }, async () => {
    let run = 0
    await fc.assert(
      fc.asyncProperty(calls(after), async (calls) => {
        const namespace = `junk ${name} ${run++}`
        const memory = memoryStore({ clock: { now: () => 0 } })
        const expected = await answersOf(memory, calls, namespace)
        expect(await answersOf(stores.get(name) as Store, calls, namespace)).toEqual(expected)
        await memory.close()
      }),
      { numRuns: RUNS, endOnFailure: true },
    )
    expect(failures).toEqual([])
  })
})

it("memory, a server, a ring and a Cluster refuse every call after they were closed, also one without charges", async () => {
  const all = [memoryStore(), ...stores.values()]
  for (const store of all) {
    await store.close()
    for (const call of ["check", "decide", "charge", "refund", "settle", "reset"] as const)
      await expect(store[call]([])).rejects.toMatchObject({ name: "SluiceError", code: "STORE_CLOSED" })
  }
})
