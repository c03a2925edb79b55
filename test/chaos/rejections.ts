import { afterAll, beforeAll, expect } from "vitest"

/** Fails the file when a promise was rejected and nobody looked. */
export function expectNoUnhandledRejections(): void {
  const seen: unknown[] = []
  const note = (reason: unknown): void => void seen.push(reason)
  beforeAll(() => {
    process.on("unhandledRejection", note)
  })
  afterAll(async () => {
    // They are told of after the promises of a turn have run.
    await new Promise((resolve) => setImmediate(resolve))
    process.off("unhandledRejection", note)
    expect(seen).toEqual([])
  })
}
