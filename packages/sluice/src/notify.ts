/**
 * Calls a listener of the user. If the listener throws, or returns a promise that rejects, a warning says so; the caller goes on.
 */
export function notify<T>(listener: ((news: T) => unknown) | undefined, news: T, logger?: Logger): void {
  if (listener === undefined) return
  try {
    const answer = listener(news)
    if (isThenable(answer)) Promise.resolve(answer).then(undefined, (error: unknown) => warn(error, logger))
  } catch (error) {
    warn(error, logger)
  }
}

/** Whether a value is an error, also one of another realm: Jest runs the library in a realm that is not that of Node's modules. */
export function isError(value: unknown): value is Error {
  return value instanceof Error || Object.prototype.toString.call(value) === "[object Error]"
}

/** The message of whatever was thrown. It never throws itself, not even for `Object.create(null)`, which has no text. */
export function messageOf(thrown: unknown): string {
  if (isError(thrown)) return thrown.message
  try {
    return String(thrown)
  } catch {
    return "a value without a message was thrown"
  }
}

export function isThenable(value: unknown): value is PromiseLike<unknown> {
  return (
    typeof value === "object" && value !== null && typeof (value as { then?: unknown }).then === "function"
  )
}

/** Receives warnings. `console` is one, and so are most loggers. */
export interface Logger {
  warn(message: string): void
}

/** Gives a warning to the logger, else to the process, else to the console. */
export function warn(thrown: unknown, logger?: Logger): void {
  const { process } = globalThis
  if (logger !== undefined) notify((message: string) => logger.warn(message), messageOf(thrown))
  else if (process?.emitWarning !== undefined) emitWarning(thrown)
  // biome-ignore lint/suspicious/noConsole: Workers have nothing else that shows a warning.
  else globalThis.console?.warn(messageOf(thrown))
}

/** Node refuses an error of another realm, so under Jest the warning is made of the error's text. */
function emitWarning(thrown: unknown): void {
  try {
    process.emitWarning(thrown as Error)
  } catch {
    const { name, code } = (isError(thrown) ? thrown : {}) as { name?: string; code?: string }
    process.emitWarning(messageOf(thrown), {
      type: name ?? "Warning",
      ...(code === undefined ? {} : { code }),
    })
  }
}
