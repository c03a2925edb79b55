import fc from "fast-check"
import { describe, expect, it } from "vitest"
import { stringify } from "yaml"
import { expectProperty, isReplay, printSeed } from "../../algorithms/replay.test-support.js"
import { ManualClock } from "../../testing/manual-clock.js"
import { createRuleEngine } from "../engine/engine.js"
import type { RuleDecision } from "../engine/rule-decision.js"
import type { Descriptor } from "../identity/descriptor.js"
import { importEnvoyConfig } from "./envoy.js"
import {
  limitsMet,
  type Met,
  SECONDS,
  type WalkDescriptor,
  type WalkLimit,
} from "./envoy-walk.test-support.js"

printSeed()

const RUNS = 200
/** A busy machine takes its time. */
const TIMEOUT = 60_000

// Few words, so that values meet patterns, and patterns each other. No key is the start of another before a `_`: what
// envoyproxy/ratelimit makes of those is noted, not copied.
const key = fc.oneof({ weight: 4, arbitrary: fc.constant("k") }, fc.constant("path"))
const exact = fc.constantFrom("a", "ab", "abc", "b", "a_b", "é,%&=", "")
const pattern = fc.constantFrom("a*", "*b", "a*c", "*", "ab*", "*_*", "*a*b*", "b*")
const seldom = fc.integer({ min: 0, max: 3 }).map((n) => n === 3)
const names = fc.constantFrom("x", "y", "z")

const limit: fc.Arbitrary<WalkLimit> = fc
  .record(
    {
      isUnlimited: seldom,
      unit: fc.constantFrom("second", "MINUTE", "Hour", "day", "week", "month", "year"),
      requests: fc.nat({ max: 3 }),
      name: names,
      replaces: fc.uniqueArray(names, { minLength: 1, maxLength: 2 }),
    },
    { requiredKeys: ["unit", "requests"] },
  )
  .map(({ isUnlimited, unit, requests, name, replaces = [] }) => {
    const others = replaces.filter((other) => other !== name)
    return {
      ...(isUnlimited === true ? { unlimited: true } : { unit, requests_per_unit: requests }),
      ...(name === undefined ? {} : { name }),
      ...(others.length === 0 ? {} : { replaces: others.map((other) => ({ name: other })) }),
    }
  })

function level(depth: number): fc.Arbitrary<WalkDescriptor[]> {
  const descriptor = fc
    .record(
      {
        key,
        value: fc.oneof(exact, pattern),
        rate_limit: fc.option(limit, { nil: undefined, freq: 4 }),
        shadow_mode: seldom,
        share_threshold: fc.boolean(),
        descriptors: depth > 1 ? level(depth - 1) : fc.constant([]),
      },
      { requiredKeys: ["key", "rate_limit", "descriptors"] },
    )
    .map(({ value = "", share_threshold: isShared = false, rate_limit: own, ...others }): WalkDescriptor => {
      const rest = own === undefined ? others : { ...others, rate_limit: own }
      if (value === "") return rest
      return { ...rest, value, ...(isShared && value.includes("*") ? { share_threshold: true } : {}) }
    })
  return fc.uniqueArray(descriptor, {
    minLength: 1,
    maxLength: depth === 3 ? 4 : 3,
    selector: ({ key, value = "" }) => `${key}_${value}`,
  })
}

/** A way into the configuration, and values to go it with; where there is none, one that the descriptor takes. */
interface Asked {
  readonly way: number
  readonly values: readonly (string | undefined)[]
  readonly isLonger: boolean
}

const asked: fc.Arbitrary<Asked> = fc.record({
  way: fc.nat({ max: 11 }),
  values: fc.array(fc.option(exact, { nil: undefined }), { maxLength: 3, size: "max" }),
  isLonger: fc.integer({ min: 0, max: 9 }).map((n) => n === 9),
})
const request = fc.array(asked, { minLength: 1, maxLength: 4, size: "max" })

function descriptorOf(ways: readonly WalkDescriptor[][], { way, values, isLonger }: Asked): Descriptor {
  const entries = (ways[way % ways.length] as WalkDescriptor[]).map(({ key, value }, i) => ({
    key,
    value: values[i] ?? value?.replaceAll("*", "") ?? "b",
  }))
  return { entries: isLonger ? [...entries, { key: "k", value: "a" }] : entries }
}

function waysOf(config: readonly WalkDescriptor[]): WalkDescriptor[][] {
  return config.flatMap((descriptor) => [
    [descriptor],
    ...waysOf(descriptor.descriptors ?? []).map((way) => [descriptor, ...way]),
  ])
}

const config = level(3)
const show = ([descriptors, ...rest]: readonly [WalkDescriptor[], ...unknown[]]) =>
  `${yamlOf(descriptors)}\n${JSON.stringify(rest)}`

function yamlOf(descriptors: WalkDescriptor[]): string {
  return stringify({ domain: "edge", descriptors })
}

function start(descriptors: WalkDescriptor[]) {
  const { document } = importEnvoyConfig(yamlOf(descriptors))
  const clock = new ManualClock()
  const engine = createRuleEngine({ rules: document, clock })
  return { clock, engine, document }
}

/** Where each counter of a decision is, and what it counts up to. */
function countersOf({ rules }: RuleDecision) {
  return rules.map(({ descriptor, mode, rule, key, limits }) => ({
    descriptor,
    isShadow: mode === "shadow",
    counter: `${rule} ${key}`,
    limit: limits[0]?.limit,
    windowMs: limits[0]?.windowMs,
  }))
}

function byDescriptor<T extends { descriptor?: number | undefined }>(list: T[]): T[] {
  return [...list].sort((a, b) => (a.descriptor ?? 0) - (b.descriptor ?? 0))
}

const secondsOf = ({ limit }: Met) => SECONDS[limit.unit?.toLowerCase() ?? ""] as number
/** Limits of 0 deny without counting, which ends a check: they are asked about by the second property. */
const counts = ({ limit }: Met) => limit.requests_per_unit !== 0

describe("an imported configuration", () => {
  it(
    "applies the same limits with the same counters as the walk does, to every descriptor of a request",
    () => {
      let compared = 0
      expectProperty(
        fc.tuple(config, fc.array(request, { minLength: 5, maxLength: 20 })),
        RUNS,
        ([descriptors, requests]) => {
          const { engine } = start(descriptors)
          const ways = waysOf(descriptors)
          const counters = new Map<string, string>()
          for (const list of requests) {
            const asked = list.map((one) => descriptorOf(ways, one))
            const met = limitsMet("edge", descriptors, asked)
            if (!met.every(counts)) continue
            const decision = engine.checkSync({ domain: "edge", descriptors: asked }, { cost: 0 })
            const found = byDescriptor(countersOf(decision))
            expect(found.map(({ counter: _counter, ...rest }) => rest)).toEqual(
              met.map((one) => ({
                descriptor: one.descriptor,
                isShadow: one.isShadow,
                limit: one.limit.requests_per_unit,
                windowMs: secondsOf(one) * 1_000,
              })),
            )
            // The same counter there is the same counter here, and another one is another one.
            met.forEach((one, i) => {
              const own = found[i]?.counter as string
              expect(counters.get(`there ${one.counter}`) ?? own).toBe(own)
              expect(counters.get(`here ${own}`) ?? one.counter).toBe(one.counter)
              counters.set(`there ${one.counter}`, own)
              counters.set(`here ${own}`, one.counter)
              compared++
            })
          }
        },
        show,
      )
      if (!isReplay) expect(compared).toBeGreaterThan(500)
    },
    TIMEOUT,
  )

  it(
    "decides a stream of single descriptors as fixed windows counted by hand do",
    () => {
      const step = fc.record({
        asked,
        waitMs: fc.constantFrom(
          0,
          0,
          0,
          0,
          0,
          0,
          1,
          400,
          999,
          1_000,
          30_000,
          60_000,
          3_600_000,
          86_400_000 * 20,
        ),
      })
      let denied = 0
      expectProperty(
        fc.tuple(config, fc.array(step, { minLength: 10, maxLength: 80, size: "max" })),
        RUNS,
        ([descriptors, steps]) => {
          const { engine, clock } = start(descriptors)
          const ways = waysOf(descriptors)
          const counts = new Map<string, number>()
          for (const { asked, waitMs } of steps) {
            const descriptor = descriptorOf(ways, asked)
            clock.advance(waitMs)
            const [met] = limitsMet("edge", descriptors, [descriptor])
            let allowed = true
            if (met !== undefined && !met.isShadow) {
              const window = Math.floor(clock.now() / 1_000 / secondsOf(met))
              const counter = `${met.counter} ${window}`
              const count = (counts.get(counter) ?? 0) + 1
              counts.set(counter, count)
              allowed = count <= (met.limit.requests_per_unit ?? 0)
            }
            if (!allowed) denied++
            expect(engine.checkSync({ domain: "edge", descriptors: [descriptor] }).allowed).toBe(allowed)
          }
        },
        show,
      )
      if (!isReplay) expect(denied).toBeGreaterThan(500)
    },
    TIMEOUT,
  )

  it(
    "denies a request whenever one of its descriptors ends at a limit of 0, also among others",
    () => {
      let denied = 0
      expectProperty(fc.tuple(config, request), RUNS * 3, ([descriptors, list]) => {
        const ways = waysOf(descriptors)
        const asked = list.map((one) => descriptorOf(ways, one))
        const met = limitsMet("edge", descriptors, asked)
        const isDenied = met.some((one) => !counts(one) && !one.isShadow)
        if (!isDenied) return
        denied++
        const { engine } = start(descriptors)
        expect(engine.checkSync({ domain: "edge", descriptors: asked }).allowed).toBe(false)
      })
      if (!isReplay) expect(denied).toBeGreaterThan(20)
    },
    TIMEOUT,
  )
})
