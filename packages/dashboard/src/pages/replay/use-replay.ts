import { effect, signal } from "@preact/signals"
import { useEffect, useRef, useState } from "preact/hooks"
import { session } from "../../service/session.js"
import type { Draft } from "./candidates.js"
import { FIRST_CHOICE } from "./log-choice.js"
import type { ReplayReport } from "./report.js"
import { isWorthPacking, type Plan, packed, sampleLog, sendReplay } from "./send.js"

export type Step = "idle" | "packing" | "running"

/** Runs one replay at a time, which can be cancelled. The last report stays until the next one is complete. */
export function useReplay() {
  const [step, setStep] = useState<Step>("idle")
  const [problem, setProblem] = useState<unknown>()
  const call = useRef<AbortController>(null)
  useEffect(() => () => call.current?.abort(), [])

  const start = async (plan: Plan, file: File | undefined): Promise<void> => {
    const own = new AbortController()
    call.current = own
    setProblem(undefined)
    try {
      setStep(file !== undefined && isWorthPacking(file) ? "packing" : "running")
      const log = file === undefined ? await sampleLog(own.signal) : await packedIfLarge(file, own.signal)
      setStep("running")
      report.value = await sendReplay(plan, log, own.signal)
    } catch (error) {
      if (!own.signal.aborted) setProblem(error)
    } finally {
      if (call.current === own) setStep("idle")
    }
  }
  return { step, problem, start, cancel: () => call.current?.abort() }
}

function packedIfLarge(file: File, signal: AbortSignal): Blob | Promise<Blob> {
  return isWorthPacking(file) ? packed(file, signal) : file
}

// The state of the page. It stays while the user visits other pages, and is cleared when the user signs out.

export const log = signal(FIRST_CHOICE)
export const withInForce = signal(true)
export const drafts = signal<readonly Draft[]>([])
/** The report of the last replay. */
export const report = signal<ReplayReport | undefined>(undefined)

effect(() => {
  if (session.value !== undefined) return
  log.value = FIRST_CHOICE
  withInForce.value = true
  drafts.value = []
  report.value = undefined
})
