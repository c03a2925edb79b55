// What a real Envoy has sent to the service, and the answers that it got: `npm run test:envoy -- --record`.

import { readFileSync } from "node:fs"
import type { Answered, Sent } from "./calls.js"

export interface RecordedStep {
  /** It is sent once so many frames other than DATA and so many bytes of DATA have come. */
  readonly afterFrames: number
  readonly afterData: number
  /** By how much the clock is moved on before. */
  readonly advancedMs?: number
  readonly bytes: string
}

export interface Recording {
  readonly scenario: string
  readonly rules: string
  readonly options: { readonly responseHeaders?: boolean }
  /** Everything that Envoy sends on its connection. */
  readonly steps: readonly RecordedStep[]
  /** What this comes to, call by call. */
  readonly calls: readonly { readonly stream: number; readonly sent: Sent; readonly answered: Answered }[]
}

export const FIXTURE: URL = new URL("recordings.generated.json", import.meta.url)

export function readRecordings(): Recording[] {
  return JSON.parse(readFileSync(FIXTURE, "utf8"))
}
