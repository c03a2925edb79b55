import { messageOf } from "./thrown.js"

/** Calls a listener of the user. One that throws, or is async and rejects, is warned about and never changes a decision. */
export function tell<T>(listener: ((news: T) => unknown) | undefined, news: T): void {
  if (listener === undefined) return
  try {
    const answer = listener(news)
    if (isThenable(answer)) Promise.resolve(answer).then(undefined, warn)
  } catch (error) {
    warn(error)
  }
}

function isThenable(value: unknown): value is PromiseLike<unknown> {
  return (
    typeof value === "object" && value !== null && typeof (value as { then?: unknown }).then === "function"
  )
}

function warn(thrown: unknown): void {
  globalThis.process?.emitWarning?.(thrown instanceof Error ? thrown : new Error(messageOf(thrown)))
}
