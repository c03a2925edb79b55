/** How long and how often `eventually` calls its probe. */
export interface EventuallyOptions {
  /** Gives up after this many milliseconds. Default 15,000: long enough for a busy machine. */
  within?: number
  /** Pause between two calls, in milliseconds. Default 10. */
  every?: number
  /** The condition in words, for the error message. */
  what?: string
}

const nothing = Symbol("no look has finished")

/**
 * Polls until `probe` returns something other than `false`, `null` or `undefined`, and returns that.
 * A probe that throws counts as "not yet". `eventually` stops waiting for a probe that hangs when the deadline passes.
 */
export async function eventually<T>(
  probe: () => T | Promise<T>,
  { within = 15_000, every = 10, what = "the condition" }: EventuallyOptions = {},
): Promise<Exclude<T, false | null | undefined>> {
  const deadline = performance.now() + within
  let last: unknown = nothing
  for (let looks = 1; ; looks++) {
    const left = deadline - performance.now()
    try {
      const value = await inTime(probe, left)
      if (isPresent(value)) return value
      last = value
    } catch (error) {
      if (!(error instanceof LookHung)) last = error
    }
    if (performance.now() + every >= deadline) {
      throw new Error(`${what}: not so within ${within} ms (${looks} looks; last: ${describe(last)})`, {
        cause: last === nothing ? undefined : last,
      })
    }
    await new Promise((resolve) => setTimeout(resolve, every))
  }
}

class LookHung extends Error {}

async function inTime<T>(probe: () => T | Promise<T>, ms: number): Promise<T> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new LookHung()), ms)
  })
  try {
    return await Promise.race([probe(), late])
  } finally {
    clearTimeout(timer)
  }
}

function isPresent<T>(value: T): value is Exclude<T, false | null | undefined> {
  return value !== false && value !== null && value !== undefined
}

function describe(last: unknown): string {
  if (last === nothing) return "no look finished"
  return last instanceof Error ? last.message : String(last)
}
