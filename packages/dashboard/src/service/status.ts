// The status of the service, loaded every few seconds, and at once after an event about rules or store.

import { effect, signal } from "@preact/signals"
import { ask } from "./api.js"
import { connection, onEvent } from "./live.js"
import { session } from "./session.js"

export interface Status {
  readonly status: "ready" | "degraded" | "draining"
  readonly version: string
  readonly startedAt: number
  readonly now: number
  readonly workers: number
  readonly rules: {
    readonly revision: number
    readonly count: number
    readonly changedAt: number
    readonly changedBy: string
    readonly stale: boolean
  }
  readonly store: {
    readonly kind: "memory" | "redis"
    readonly keys?: number
    readonly bytes?: number
    readonly instances?: number
    readonly breakers?: Readonly<Record<"closed" | "open" | "half-open", number>>
  }
  readonly leases?: {
    readonly keys: number
    readonly held: number
    readonly answered: number
    readonly calls: number
  }
  readonly sampleTraffic?: { readonly endsAt?: number }
}

const EVERY_MS = 5_000

/** Undefined until the service has answered. */
export const status = signal<Status | undefined>()

export async function askStatus(): Promise<void> {
  // The last status stays while the service is not reachable. The banner tells how old it is.
  const answer = await ask<Status>("GET", "status").catch(() => undefined)
  if (answer !== undefined) status.value = answer.data
}

export function followStatus(): () => void {
  const endings = [
    effect(() => {
      if (session.value !== undefined && connection.value === "live") void askStatus()
    }),
    onEvent("rules", () => void askStatus()),
    onEvent("store", () => void askStatus()),
  ]
  const timer = setInterval(() => {
    if (session.value !== undefined && !document.hidden) void askStatus()
  }, EVERY_MS)
  return () => {
    clearInterval(timer)
    for (const end of endings) end()
  }
}
