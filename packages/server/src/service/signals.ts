/** The terminal and npm both send SIGINT for one Ctrl-C, so a second signal within this time is ignored. */
const SAME_PRESS_MS = 250

export interface SignalHandlers {
  /** SIGTERM, SIGINT. */
  stop(): Promise<void>
  /** SIGHUP. */
  reload(): Promise<void>
  /** SIGTERM or SIGINT again, while stopping. */
  force(signal: NodeJS.Signals): void
}

/** Handles signals until the process ends. */
export function onSignals({ stop, reload, force }: SignalHandlers): void {
  let stoppingSince: number | undefined
  for (const signal of ["SIGTERM", "SIGINT"] as const) {
    process.on(signal, () => {
      if (stoppingSince === undefined) {
        stoppingSince = performance.now()
        void stop()
      } else if (performance.now() - stoppingSince > SAME_PRESS_MS) force(signal)
    })
  }
  process.on("SIGHUP", () => void reload())
}
