// Work that may take long, such as compiling thousands of rules, written as a generator: each `yield` is a place where it can
// be interrupted. Whoever starts the work decides whether it runs to its end at once or lets others run in between.

/** Work in steps, each of a millisecond or so at most. */
export type Steps<Result> = Generator<void, Result, void>

/** How long one slice takes. Others wait for this long, and for the step that it ends with. */
const SLICE_MS = 10
/** So many steps come before the first look at the time: a small rule set is in force at once, however slow the machine. */
const FIRST_STEPS = 100

/** Does all of the work at once. */
export function finish<Result>(steps: Steps<Result>): Result {
  for (;;) {
    const { done, value } = steps.next()
    if (done) return value
  }
}

/** Does the work in slices between which the event loop runs. Work that fits into one slice is done at once. */
export function finishInSlices<Result>(steps: Steps<Result>): Result | Promise<Result> {
  const done = slice(steps, FIRST_STEPS)
  return done === undefined ? finishLater(steps) : done.value
}

async function finishLater<Result>(steps: Steps<Result>): Promise<Result> {
  for (;;) {
    await new Promise((resume) => setTimeout(resume, 0))
    const done = slice(steps)
    if (done !== undefined) return done.value
  }
}

/** Takes at least so many steps, and goes on until the slice is over. */
function slice<Result>(steps: Steps<Result>, least = 1): { readonly value: Result } | undefined {
  const end = performance.now() + SLICE_MS
  for (let taken = 1; ; taken++) {
    const { done, value } = steps.next()
    if (done) return { value }
    if (taken >= least && performance.now() >= end) return undefined
  }
}
