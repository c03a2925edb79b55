// One key, asked for each second for as long as somebody looks.

import { useEffect, useState } from "preact/hooks"
import { ask, path } from "../../service/api.js"

export interface LimitState {
  readonly name: string
  /** Null when nothing limits. */
  readonly limit: number | null
  readonly remaining: number | null
  readonly resetAfterMs: number | "never"
  readonly windowMs: number
}

export interface KeyState {
  readonly rule: string
  readonly key: string
  readonly mode: "enforce" | "shadow" | "off"
  readonly allowed: boolean
  readonly blockedForMs?: number
  readonly degraded?: "allow" | "deny" | "local"
  readonly limits: readonly LimitState[]
}

/** How a key stood at a time, in seconds since 1970. */
export interface Sample {
  readonly at: number
  /** By the name of the limit: how much of it was used, from 0 to 1. */
  readonly used: Readonly<Record<string, number>>
}

const EVERY_MS = 1_000
/** Five minutes. */
export const SAMPLES = 300

export interface WatchedKey {
  readonly state: KeyState | undefined
  readonly samples: readonly Sample[]
  readonly problem: unknown
  /** Shows what an action has answered, without waiting for the next second. */
  readonly show: (state: KeyState) => void
}

export function useKey(rule: string, key: string): WatchedKey {
  const [watched, setWatched] = useState<Omit<WatchedKey, "show">>({
    state: undefined,
    samples: [],
    problem: undefined,
  })
  const show = (state: KeyState) =>
    setWatched(({ samples }) => ({
      state,
      samples: withSample(samples, state, Date.now()),
      problem: undefined,
    }))
  useEffect(() => {
    const ending = new AbortController()
    const look = () =>
      ask<KeyState>("GET", path("keys", rule, key), { signal: ending.signal }).then(
        ({ data }) => show(data),
        (problem: unknown) => {
          if (!ending.signal.aborted) setWatched((before) => ({ ...before, problem }))
        },
      )
    void look()
    const timer = setInterval(() => {
      if (!document.hidden) void look()
    }, EVERY_MS)
    return () => {
      clearInterval(timer)
      ending.abort()
    }
  }, [rule, key])
  return { ...watched, show }
}

/** What is kept, with how it is now. One for each second: an action may answer twice in one. */
export function withSample(samples: readonly Sample[], state: KeyState, now: number): readonly Sample[] {
  const at = Math.floor(now / 1_000)
  const used = Object.fromEntries(
    state.limits.flatMap(({ name, limit, remaining }) =>
      limit === null || remaining === null || limit === 0
        ? []
        : [[name, (limit - remaining) / limit] as const],
    ),
  )
  return [...samples.filter((sample) => sample.at !== at && sample.at > at - SAMPLES), { at, used }]
}

/** The client that a key counts, as overrides and lists name it. Undefined when it counts something else, or everybody. */
export function clientOf(key: string): string | undefined {
  return key.split(",").find((part) => /^(?:ip|user|apiKey):./.test(part))
}
