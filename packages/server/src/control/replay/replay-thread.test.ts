import { beforeAll, expect, it, vi } from "vitest"
import { buildServer } from "../../../../../test/support/service-process.js"
import { replayInThread } from "./replay-thread.js"

// The thread loads what is built, on a machine that may be busy.
vi.setConfig({ testTimeout: 30_000 })
beforeAll(buildServer, 60_000)

const rules = [
  {
    name: "all",
    ruleSet: { version: 1 as const, rules: [{ id: "all", limits: [{ limit: 1, window: "1m" }] }] },
  },
]

async function* endless(): AsyncGenerator<Uint8Array> {
  await new Promise(() => {})
}

it("does not start for a client that has already left", async () => {
  const bounds = { deadlineMs: 600_000, signal: AbortSignal.abort() }
  await expect(replayInThread(endless(), { rules, format: undefined }, bounds)).rejects.toThrow("aborted")
})

it("ends when the client leaves, at any moment of its start", async () => {
  for (const ms of [0, 1, 5, 20, 80, 200]) {
    const bounds = { deadlineMs: 600_000, signal: AbortSignal.timeout(ms) }
    await expect(replayInThread(endless(), { rules, format: undefined }, bounds)).rejects.toThrow()
  }
})
