/** Tells a listener something. One that throws is warned about, and never changes a decision. */
export function tell<T>(listener: ((news: T) => void) | undefined, news: T): void {
  if (listener === undefined) return
  try {
    listener(news)
  } catch (error) {
    globalThis.process?.emitWarning?.(error instanceof Error ? error : new Error(String(error)))
  }
}
