// Property tests print their seed, and with a failure the command that replays exactly that case.
//
//   SLUICE_SEED=…   the seed of a run (otherwise a new one each time)
//   SLUICE_PATH=…   the failing case within it
//   SLUICE_RUNS=10  ten times as many cases, for a long soak

import fc from "fast-check"
import { afterAll, expect } from "vitest"

const seed = Number(process.env.SLUICE_SEED ?? Math.floor(Math.random() * 2 ** 31))
const path = process.env.SLUICE_PATH
const times = Number(process.env.SLUICE_RUNS ?? 1)

/** Prints the seed at the end of the file, whether its tests passed or not. */
export function printSeed(): void {
  afterAll(() => {
    const file = testFile()
    process.stdout.write(`${file}: seed ${seed} (again: SLUICE_SEED=${seed} npx vitest run ${file})\n`)
  })
}

/** Whether one known case is being played again, and counts of cases mean nothing. */
export const isReplay = path !== undefined

/** Runs a property inside a test. `show` says what happened in the smallest case that failed. */
export function expectProperty<T>(
  arbitrary: fc.Arbitrary<T>,
  runs: number,
  holds: (value: T) => void,
  show: (value: T) => string = fc.stringify,
): void {
  const replay = path === undefined ? {} : { path }
  const result = fc.check(fc.property(arbitrary, holds), { seed, ...replay, numRuns: runs * times })
  if (!result.failed) return
  const [smallest] = result.counterexample as [T]
  const cause = result.errorInstance
  const why = cause instanceof Error ? cause.message : String(cause)
  throw new Error(
    `${why}\n\n${show(smallest)}\n\nPlay it again:\n${replayCommand(result.counterexamplePath)}`,
    { cause },
  )
}

function replayCommand(failedPath: string | null): string {
  const name = (expect.getState().currentTestName ?? "").split(" > ").join(" ")
  return `SLUICE_SEED=${seed} SLUICE_PATH=${failedPath} npx vitest run ${testFile()} -t "${name}"`
}

function testFile(): string {
  const file = expect.getState().testPath ?? ""
  return file.slice(file.lastIndexOf("packages/"))
}
