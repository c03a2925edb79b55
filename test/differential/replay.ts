// Async properties whose seed is printed, and whose failures come with the one command that plays them again.
//
//   SLUICE_SEED=…   the seed of a run (otherwise a new one each time)
//   SLUICE_PATH=…   the failing case within it
//   SLUICE_RUNS=10  ten times as many cases, for a long soak

import fc from "fast-check"
import { afterAll, expect } from "vitest"

export const seed = Number(process.env.SLUICE_SEED ?? Math.floor(Math.random() * 2 ** 31))
const path = process.env.SLUICE_PATH
const times = Number(process.env.SLUICE_RUNS ?? 1)

/** Whether one known case is being played again, and counts of cases mean nothing. */
export const isReplay = path !== undefined

/** Prints the seed once the file is done, whether it passed or not. */
export function printSeed(): void {
  afterAll(() => {
    const file = testFile()
    process.stdout.write(`${file}: seed ${seed} (again: SLUICE_SEED=${seed} npx vitest run ${file})\n`)
  })
}

/** Runs a property inside a test. `keep` receives the smallest failing case and returns where it was saved. */
export async function expectProperty<T>(
  arbitrary: fc.Arbitrary<T>,
  runs: number,
  holds: (value: T) => Promise<void>,
  keep: (value: T) => Promise<string>,
): Promise<void> {
  const replay = path === undefined ? {} : { path }
  const result = await fc.check(fc.asyncProperty(arbitrary, holds), {
    seed,
    ...replay,
    numRuns: runs * times,
  })
  if (!result.failed) return
  const [smallest] = result.counterexample as [T]
  const cause = result.errorInstance
  const why = cause instanceof Error ? cause.message : String(cause)
  const kept = await keep(smallest)
  throw new Error(`${why}\n\n${kept}\n\nPlay it again:\n${replayCommand(result.counterexamplePath)}`, {
    cause,
  })
}

function replayCommand(failedPath: string | null): string {
  const name = (expect.getState().currentTestName ?? "").split(" > ").join(" ")
  return `SLUICE_SEED=${seed} SLUICE_PATH=${failedPath} npx vitest run ${testFile()} -t "${name}"`
}

function testFile(): string {
  const file = expect.getState().testPath ?? ""
  return file.slice(file.lastIndexOf("test/differential/"))
}
