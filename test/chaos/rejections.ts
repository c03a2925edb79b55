import { afterAll, beforeAll, expect } from "vitest"

/** Fails the test file on an unhandled rejection. */
export function expectNoUnhandledRejections(): void {
  const seen: unknown[] = []
  const note = (reason: unknown): void => void seen.push(reason)
  beforeAll(() => {
    process.on("unhandledRejection", note)
  })
  afterAll(async () => {
    // Node reports unhandled rejections after the microtasks of a turn.
    await new Promise((resolve) => setImmediate(resolve))
    process.off("unhandledRejection", note)
    expect(seen).toEqual([])
  })
}
