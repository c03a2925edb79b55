/** One task that runs, and whether anybody still waits for it. */
interface Running {
  /** Settles when it has ended. */
  readonly ended: Promise<unknown>
  readonly cancelled: AbortSignal
}

/** How long a task that nobody has cancelled is waited for: who cancelled it may be back before the news of it. */
const PATIENCE_MS = 1_000

/**
 * Runs one task at a time. Who comes while another one runs is told so; who comes while a cancelled one is ending waits for
 * that, however long it takes on a busy machine.
 */
export class OneAtATime {
  readonly #busy: () => Error
  readonly #patienceMs: number
  #running: Running | undefined

  /** `busy` makes the error for who cannot run now. */
  constructor(busy: () => Error, patienceMs = PATIENCE_MS) {
    this.#busy = busy
    this.#patienceMs = patienceMs
  }

  /** `cancelled` says that nobody waits for the task any more; the task has to see to its end by itself. */
  async run<T>(cancelled: AbortSignal, task: () => Promise<T>): Promise<T> {
    if (this.#running !== undefined) await endOf(this.#running, this.#patienceMs)
    if (this.#running !== undefined) throw this.#busy()
    // Who waited for its turn may have gone meanwhile.
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

/** Resolves when it is cancelled, or when it was not for so long. */
async function news(cancelled: AbortSignal, ms: number): Promise<void> {
  if (cancelled.aborted) return
  await new Promise<void>((resolve) => {
    const done = () => {
      clearTimeout(timer)
      cancelled.removeEventListener("abort", done)
      resolve()
    }
    // Timers come before sockets: after a stall the news may be there, and not read yet.
    const timer = setTimeout(() => setImmediate(done), ms)
    cancelled.addEventListener("abort", done)
  })
}

function ignore(): void {}
