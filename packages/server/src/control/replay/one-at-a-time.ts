/** The running task, and whether its client still waits for it. */
interface Running {
  /** Settles when the task has ended. */
  readonly ended: Promise<unknown>
  readonly cancelled: AbortSignal
}

/** How long to wait whether the running task is cancelled: a client may return before the server notices that it left. */
const PATIENCE_MS = 1_000

/**
 * Runs one task at a time. A client that comes while another task runs gets an error. A client that comes while a cancelled task
 * is ending waits for its end, however long that takes.
 */
export class OneAtATime {
  readonly #busy: () => Error
  readonly #patienceMs: number
  #running: Running | undefined

  /** `busy` makes the error for a client that cannot run its task now. */
  constructor(busy: () => Error, patienceMs = PATIENCE_MS) {
    this.#busy = busy
    this.#patienceMs = patienceMs
  }

  /** `cancelled` aborts when the client leaves. The task itself must end then. */
  async run<T>(cancelled: AbortSignal, task: () => Promise<T>): Promise<T> {
    if (this.#running !== undefined) await endOf(this.#running, this.#patienceMs)
    if (this.#running !== undefined) throw this.#busy()
    // The client may have left while it waited for its turn.
    cancelled.throwIfAborted()
    const ended = task()
    this.#running = { ended, cancelled }
    try {
      return await ended
    } finally {
      this.#running = undefined
    }
  }
}

async function endOf({ ended, cancelled }: Running, patienceMs: number): Promise<void> {
  const settled = ended.then(ignore, ignore)
  await Promise.race([settled, news(cancelled, patienceMs)])
  if (cancelled.aborted) await settled
}

/** Resolves when the task is cancelled, or after the waiting time. */
async function news(cancelled: AbortSignal, ms: number): Promise<void> {
  if (cancelled.aborted) return
  await new Promise<void>((resolve) => {
    const done = () => {
      clearTimeout(timer)
      cancelled.removeEventListener("abort", done)
      resolve()
    }
    // The event loop runs timers before sockets: after a stall, the end of the connection may not be read yet.
    const timer = setTimeout(() => setImmediate(done), ms)
    cancelled.addEventListener("abort", done)
  })
}

function ignore(): void {}
