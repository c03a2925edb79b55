import { describe, expect, it } from "vitest"
import { compilePolicy } from "../policy.js"
import { type Check, Namespace } from "./store.js"
import { planWaves } from "./waves.js"

const namespace = new Namespace("waves")
const policy = compilePolicy({ limit: 1, window: "1m" }, "test")

/** `"a1 b2"` is a check on key a1 of node a and on key b2 of node b. */
function check(keys: string): Check {
  const list = keys === "" ? [] : keys.split(" ")
  return { charges: list.map((key) => ({ namespace, key, policy, cost: 1 })) }
}

function plan(...checks: string[]) {
  const waves = planWaves(checks.map(check), (key) => key.charCodeAt(0))
  return waves.map(({ alone, across }) => ({
    alone: Object.fromEntries(Array.from(alone, ([node, list]) => [String.fromCharCode(node), list])),
    across,
  }))
}

describe("waves", () => {
  it("checks of one node each go together, in order, also on the same key", () => {
    expect(plan("a1", "b1", "a1", "a2 a1", "b1")).toEqual([
      { alone: { a: [0, 2, 3], b: [1, 4] }, across: [] },
    ])
  })

  it("checks over several nodes go with the others as long as they share no key", () => {
    expect(plan("a1", "a2 b1", "b2", "a3 b3")).toEqual([{ alone: { a: [0], b: [2] }, across: [1, 3] }])
  })

  it("a check over several nodes waits for those before it on any of its keys, and those after wait for it", () => {
    expect(plan("a1", "a1 b1", "b1", "a1", "a2")).toEqual([
      { alone: { a: [0, 4] }, across: [] },
      { alone: {}, across: [1] },
      { alone: { b: [2], a: [3] }, across: [] },
    ])
  })

  it("a chain of checks over several nodes runs one by one", () => {
    expect(plan("a1 b1", "b1 a2", "a2 b2").map(({ across }) => across)).toEqual([[0], [1], [2]])
  })

  it("a check of a later wave is seen by the next of its other keys", () => {
    expect(plan("a1 b1", "a1 a2", "a2")).toEqual([
      { alone: {}, across: [0] },
      { alone: { a: [1, 2] }, across: [] },
    ])
  })

  it("an empty list takes no wave, and a check without charges may run on any node", () => {
    expect(plan()).toEqual([])
    expect(planWaves([check("")], () => 1)).toEqual([{ alone: new Map([[0, [0]]]), across: [] }])
  })
})
