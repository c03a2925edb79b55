import { expect, it } from "vitest"
import { type HeaderDecision, headerList } from "./headers.js"
import { mergeLimits, mergeShownLimits, type ShownLimits } from "./merged-headers.js"

function shown(name: string, limit: number, remaining: number, retryAfterMs = 0): ShownLimits {
  const decision: HeaderDecision = {
    allowed: retryAfterMs === 0,
    limit,
    remaining,
    retryAfterMs,
    resetAfterMs: 60_000,
    resetAt: 1_800_000_000_000,
  }
  return { decision, policies: [{ name, quota: limit, windowMs: 60_000 }] }
}

function headersOf({ decision, policies }: ShownLimits): Record<string, string> {
  const list = headerList("both", policies, decision)
  return Object.fromEntries(list.flatMap((name, i) => (i % 2 === 0 ? [[name, list[i + 1] as string]] : [])))
}

it("shows the tightest of two limits in headers with room for one, whichever came first", () => {
  const tight = shown("tight", 5, 1)
  const wide = shown("wide", 100, 90)
  for (const both of [mergeLimits(tight, wide), mergeLimits(wide, tight)]) {
    expect(headersOf(both)).toMatchObject({ "x-ratelimit-limit": "5", "x-ratelimit-remaining": "1" })
  }
})

it("gives each limit its member, in the order of the middlewares, also of three", () => {
  const both = mergeLimits(mergeLimits(shown("a", 5, 4), shown("b", 6, 5)), shown("c", 7, 6))
  expect(headersOf(both)).toMatchObject({
    ratelimit: '"a";r=4;t=60, "b";r=5;t=60, "c";r=6;t=60',
    "ratelimit-policy": '"a";q=5;w=60, "b";q=6;w=60, "c";q=7;w=60',
  })
})

it("explains a denial by the limit that denied, even if another has less left", () => {
  const both = mergeLimits(shown("used up", 5, 0), shown("denies", 100, 3, 10_000))
  expect(headersOf(both)).toMatchObject({
    "x-ratelimit-limit": "100",
    "retry-after": "10",
    ratelimit: '"used up";r=0, "denies";r=3;t=10',
  })
})

it("shows 0 remaining while one of the keys is blocked, whichever came first", () => {
  const { decision, policies } = shown("blocked", 5, 0, 30_000)
  // None of its limits denies; the block does.
  const limits = [{ ...decision, name: "blocked", remaining: 4, retryAfterMs: 0 }]
  const blocked = { decision: { ...decision, limits }, policies }
  const wide = shown("wide", 100, 90)
  for (const both of [mergeLimits(blocked, wide), mergeLimits(wide, blocked)]) {
    expect(headersOf(both)).toMatchObject({
      "x-ratelimit-limit": "5",
      "x-ratelimit-remaining": "0",
      "retry-after": "30",
    })
  }
})

it("merges the same two lists of policies into the same array", () => {
  const a = shown("a", 5, 4)
  const b = shown("b", 6, 5)
  expect(mergeLimits(a, b).policies).toBe(mergeLimits(a, b).policies)
})

it("remembers on the request what earlier middlewares showed", () => {
  const request = {}
  const a = shown("a", 5, 4)
  expect(mergeShownLimits(request, a)).toBe(a)
  expect(mergeShownLimits(request, shown("b", 6, 5)).policies.map(({ name }) => name)).toEqual(["a", "b"])
  expect(mergeShownLimits({}, a)).toBe(a)
})
