import { describe, expect, it } from "vitest"
import type { MonitoredTarget } from "./target.js"
import { idleTarget } from "./target.test-support.js"
import { BalancedUpstream } from "./upstream.js"

function targets(count: number): MonitoredTarget[] {
  return ["a", "b", "c", "d"].slice(0, count).map((name) => idleTarget(name))
}

/** The names of the next ones, in order. */
function next(upstream: BalancedUpstream, count: number, except?: MonitoredTarget): string {
  return Array.from({ length: count }, () => nameOf(upstream.pick(except))).join("")
}

function nameOf(target: MonitoredTarget | undefined): string {
  return target === undefined ? "-" : new URL(target.origin).hostname
}

function eject(target: MonitoredTarget | undefined): void {
  for (let i = 0; i < 2; i++) {
    target?.begin()
    target?.ended("failed")
  }
}

describe("round robin", () => {
  it("uses the targets one after the other", () => {
    expect(next(new BalancedUpstream("u", targets(3), "round-robin"), 7)).toBe("abcabca")
  })

  it("skips targets that are unhealthy or ejected", () => {
    const all = targets(4)
    const upstream = new BalancedUpstream("u", all, "round-robin")
    ;(all[1] as MonitoredTarget).isHealthy = false
    eject(all[2])
    expect(next(upstream, 4)).toBe("adad")
  })
})

describe("least connections", () => {
  it("uses the target with the fewest exchanges in progress", () => {
    const all = targets(3)
    const upstream = new BalancedUpstream("u", all, "least-connections")
    for (const each of all) each.begin()
    all[1]?.ended("answered")
    expect(next(upstream, 2)).toBe("bb")
  })

  it("takes turns between targets that are equally busy", () => {
    const upstream = new BalancedUpstream("u", targets(3), "least-connections")
    expect(next(upstream, 6)).toBe("abcabc")
  })

  it("does not use an ejected target although it is idle", () => {
    const all = targets(2)
    const upstream = new BalancedUpstream("u", all, "least-connections")
    eject(all[0])
    all[1]?.begin()
    expect(next(upstream, 2)).toBe("bb")
  })
})

describe.each(["round-robin", "least-connections"] as const)("with %s", (balance) => {
  it("picks no target when none is healthy", () => {
    for (const count of [1, 3]) {
      const all = targets(count)
      for (const each of all) each.isHealthy = false
      expect(new BalancedUpstream("u", all, balance).pick()).toBeUndefined()
    }
  })

  it("picks an ejected target when no other is left", () => {
    for (const count of [1, 2]) {
      const all = targets(count)
      for (const each of all) eject(each)
      expect(new BalancedUpstream("u", all, balance).pick()).toBeDefined()
    }
  })

  it("picks another target after a failure, if one is usable", () => {
    const all = targets(2)
    const upstream = new BalancedUpstream("u", all, balance)
    expect(next(upstream, 3, all[0])).toBe("bbb")
    eject(all[1])
    expect(next(upstream, 3, all[0])).toBe("aaa")
    expect(nameOf(new BalancedUpstream("u", targets(1), balance).pick(all[0]))).toBe("a")
  })
})
