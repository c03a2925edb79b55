import { describe, expect, it } from "vitest"
import { clientOf, type KeyState, SAMPLES, type Sample, withSample } from "./key-state.js"

const NOW = 1_767_225_600_000

function stateWith(remaining: number | null, limit: number | null = 10): KeyState {
  const used = limit === null || remaining === null ? null : limit - remaining
  const limits = [{ name: "10/1m", limit, remaining, used, resetAfterMs: 0, resetAt: NOW, windowMs: 60_000 }]
  return { rule: "login", key: "ip:192.0.2.1", mode: "enforce", allowed: true, limits }
}

describe("the samples of a key", () => {
  it("hold the used share of each limit", () => {
    expect(withSample([], stateWith(7), NOW)).toEqual([{ at: NOW / 1_000, used: { "10/1m": 0.3 } }])
  })

  it("leave out missing limits", () => {
    expect(withSample([], stateWith(null, null), NOW)).toEqual([{ at: NOW / 1_000, used: {} }])
  })

  it("hold the newest sample of each second", () => {
    const first = withSample([], stateWith(7), NOW + 100)
    const second = withSample(first, stateWith(2), NOW + 900)
    expect(second).toEqual([{ at: NOW / 1_000, used: { "10/1m": 0.8 } }])
  })

  it("end after five minutes", () => {
    let samples: readonly Sample[] = []
    for (let i = 0; i < 2 * SAMPLES; i++) samples = withSample(samples, stateWith(5), NOW + i * 1_000)
    expect(samples).toHaveLength(SAMPLES)
    expect(samples[0]?.at).toBe(NOW / 1_000 + SAMPLES)
  })
})

it("finds the client in any part of a key", () => {
  expect(clientOf("user:42")).toBe("user:42")
  expect(clientOf("ip:2001:db8::/64")).toBe("ip:2001:db8::/64")
  expect(clientOf("route:/v1/items/:id,apiKey:abc")).toBe("apiKey:abc")
})

it("finds no client in a key that counts everybody or something else", () => {
  expect(clientOf("global")).toBeUndefined()
  expect(clientOf("header:x-tenant:acme")).toBeUndefined()
})
