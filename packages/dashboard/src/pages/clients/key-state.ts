// The state of one key, loaded every second while the page is visible.

import { useEffect, useState } from "preact/hooks"
import { ask, path } from "../../service/api.js"

export interface LimitState {
  readonly name: string
  /** Null if the key is not limited. */
  readonly limit: number | null
  readonly remaining: number | null
  readonly resetAfterMs: number | "never"
  readonly resetAt: number
  readonly windowMs: number
  /** Units that count now. They may exceed the limit. */
  readonly used: number | null
  /** Sliding log: when the oldest and the newest unit that count were charged. */
  readonly oldestAt?: number
  readonly newestAt?: number
  /** Fixed window and sliding counter: the buckets with units, newest first. */
  readonly buckets?: readonly {
    readonly startsAt: number
    readonly lengthMs: number
    readonly units: number
  }[]
  /** A limit with a penalty: the block in force, if there is one, and the denials and blocks that count. */
  readonly penalty?: {
    readonly blockedSince?: number
    readonly denials: number
    readonly blocks: number
  }
}

export interface KeyState {
  readonly rule: string
  readonly key: string
  readonly mode: "enforce" | "shadow" | "off"
  readonly allowed: boolean
  /** By hand or by a penalty, whichever lasts longer. */
  readonly blockedForMs?: number
  /** The block by hand. */
  readonly block?: { readonly blockedSince: number; readonly blockedUntil: number }
  readonly degraded?: "allow" | "deny" | "local"
  readonly limits: readonly LimitState[]
}

/** The usage of a key at a time, in seconds since 1970. */
export interface Sample {
  readonly at: number
  /** The used share of each limit, from 0 to 1, by the name of the limit. */
  readonly used: Readonly<Record<string, number>>
}

const EVERY_MS = 1_000
/** Five minutes. */
export const SAMPLES = 300

export interface WatchedKey {
  readonly state: KeyState | undefined
  readonly samples: readonly Sample[]
  readonly problem: unknown
  /** Shows the answer of an action at once. */
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

/** The samples with the current state added. Each second has one sample, the newest. */
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

/** The client in a key, as overrides and lists name it. Undefined if the key does not identify a client. */
export function clientOf(key: string): string | undefined {
  return key.split(",").find((part) => /^(?:ip|user|apiKey):./.test(part))
}
