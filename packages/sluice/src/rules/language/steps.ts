// Long work, such as compiling thousands of rules, as a generator: it can pause at each `yield`. The caller decides whether
// it runs to its end at once, or in slices between which the event loop runs.

/** Work in steps, each of a millisecond or so at most. */
export type Steps<Result> = Generator<void, Result, void>

/** How long one slice runs before the event loop continues. A slice ends with the step that exceeds this time. */
const SLICE_MS = 10
/** The first steps run without a look at the time, so that a small rule set is in force at once on a slow machine, too. */
const FIRST_STEPS = 100

/** Runs all steps at once. */
export function finish<Result>(steps: Steps<Result>): Result {
  for (;;) {
    const { done, value } = steps.next()
    if (done) return value
  }
}

/** Runs the steps in slices between which the event loop runs. Work that fits into one slice is done before it returns. */
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

/** Runs at least `least` steps, and further ones until the slice is over. Undefined if there are steps left. */
function slice<Result>(steps: Steps<Result>, least = 1): { readonly value: Result } | undefined {
  const end = performance.now() + SLICE_MS
  for (let taken = 1; ; taken++) {
    const { done, value } = steps.next()
    if (done) return { value }
    if (taken >= least && performance.now() >= end) return undefined
  }
}
