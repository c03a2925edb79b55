// Sends a log to the service: one line of JSON with the plan, then the log, which is compressed if it is large.

import { ask } from "../../service/api.js"
import type { ReplayReport } from "./report.js"

const REPLAY_TYPE = "application/x-sluice-replay"
/** Larger logs are compressed before they are sent, which makes them 10 to 20 times smaller. */
const LARGE_BYTES = 4 * 1_048_576

export interface Plan {
  /** A candidate without rules stands for the rules in force. */
  readonly candidates: readonly { readonly name: string; readonly rules?: string }[]
  readonly format?: string | { readonly nginx: string }
}

export async function sampleLog(signal: AbortSignal): Promise<Blob> {
  const { data } = await ask<string>("GET", "replay/sample", { signal })
  return new Blob([data])
}

export async function sendReplay(plan: Plan, log: Blob, signal: AbortSignal): Promise<ReplayReport> {
  const body = new Blob([`${JSON.stringify(plan)}\n`, log])
  const { data } = await ask<ReplayReport>("POST", "replay", { body, type: REPLAY_TYPE, signal })
  return data
}

export function isWorthPacking(file: File): boolean {
  return file.size >= LARGE_BYTES && !file.name.endsWith(".gz") && "CompressionStream" in globalThis
}

export async function packed(log: Blob, signal: AbortSignal): Promise<Blob> {
  const stream = log.stream().pipeThrough(new CompressionStream("gzip"), { signal })
  return await new Response(stream).blob()
}
