import { effect, signal } from "@preact/signals"
import { useEffect, useRef, useState } from "preact/hooks"
import { session } from "../../service/session.js"
import type { Draft } from "./candidates.js"
import { FIRST_CHOICE } from "./log-choice.js"
import type { ReplayReport } from "./report.js"
import { isWorthPacking, type Plan, packed, sampleLog, sendReplay } from "./send.js"

export type Step = "idle" | "packing" | "running"

/** One replay at a time, which can be cancelled. What was found last stays until the next is done. */
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

// What the page keeps while another is shown: nobody wants to write a rule set twice. Gone when who wrote it signs out.

export const log = signal(FIRST_CHOICE)
export const withInForce = signal(true)
export const drafts = signal<readonly Draft[]>([])
/** What the last replay found. */
export const report = signal<ReplayReport | undefined>(undefined)

effect(() => {
  if (session.value !== undefined) return
  log.value = FIRST_CHOICE
  withInForce.value = true
  drafts.value = []
  report.value = undefined
})
