// What the page keeps while another is shown: nobody wants to write a rule set twice. Gone when who wrote it signs out.

import { effect, signal } from "@preact/signals"
import { session } from "../../session.js"
import type { Draft } from "./candidates.js"
import { FIRST_CHOICE } from "./log-choice.js"
import type { ReplayReport } from "./report.js"

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
