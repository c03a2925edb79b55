// A trace: concrete calls on a store, each with its time, so that any store can be given exactly the same.

import { readdirSync, readFileSync, writeFileSync } from "node:fs"
import { fileURLToPath } from "node:url"
import type { Policy } from "../../packages/sluice/src/algorithms/algorithm.js"
import { restorePolicy, type SavedPolicy, savePolicy } from "../../packages/sluice/src/policy.js"

/** One counter of the trace (a namespace, or `namespace/key`), the place of its policy in `policies`, the cost, and for some refunds the time of the charge. */
export type TraceCharge = readonly [counter: string, policy: number, cost: number, chargedAt?: number]

export type Call = "check" | "decide" | "charge" | "refund" | "reset"

export interface TraceStep {
  readonly call: Call
  /** Whole microseconds since 1970. */
  readonly at: number
  readonly charges: readonly TraceCharge[]
}

/**
 * How the calls reach the store: each awaited, all of them in one tick, runs of checks by `checkMany`, or only runs of checks
 * of the same time.
 */
export type Manner = "each" | "together" | "many" | "bursts"

export interface Trace {
  readonly about: string
  readonly manner: Manner
  readonly policies: readonly Policy[]
  readonly steps: readonly TraceStep[]
}

const folder = new URL("../traces/", import.meta.url)

export function traceFiles(): string[] {
  return readdirSync(folder).filter((name) => name.endsWith(".json"))
}

export function readTrace(name: string): Trace {
  const saved = JSON.parse(readFileSync(new URL(name, folder), "utf8")) as SavedTrace
  return { ...saved, policies: saved.policies.map(restorePolicy) }
}

/** Keeps a trace as a file, one call per line. Returns its path. */
export function writeTrace(name: string, trace: Trace): string {
  const list = (items: readonly unknown[]) => items.map((item) => `\n    ${JSON.stringify(item)}`).join(",")
  const text = `{
  "about": ${JSON.stringify(trace.about)},
  "manner": ${JSON.stringify(trace.manner)},
  "policies": [${list(trace.policies.map(savePolicy))}
  ],
  "steps": [${list(trace.steps)}
  ]
}
`
  const file = new URL(name, folder)
  writeFileSync(file, text)
  return fileURLToPath(file)
}

interface SavedTrace extends Omit<Trace, "policies"> {
  readonly policies: readonly SavedPolicy[]
}
