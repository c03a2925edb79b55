import { useEffect, useRef, useState } from "preact/hooks"
import { report } from "./kept.js"
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
