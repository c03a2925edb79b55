import { ManualClock } from "sluice/testing"
import { expect, it } from "vitest"
import { createLog } from "../../telemetry/log.js"
import { FailureLog } from "./failure-log.js"

it("logs one failure a second for each target and kind, and how many it skipped", () => {
  const lines: Record<string, unknown>[] = []
  const clock = new ManualClock()
  const log = createLog({
    level: "info",
    destination: { write: (line) => void lines.push(JSON.parse(line)) },
  })
  const failures = new FailureLog(log, clock)
  const failed = (origin: string) =>
    failures.failed({ origin, problem: "UPSTREAM_UNREACHABLE", error: new Error("ECONNREFUSED") })
  for (let i = 0; i < 100; i++) failed("http://a")
  failed("http://b")
  clock.advance(1_000)
  failed("http://a")
  failed("http://b")
  expect(lines.map(({ target, code, error, skipped }) => [target, code, error, skipped])).toEqual([
    ["http://a", "UPSTREAM_UNREACHABLE", "ECONNREFUSED", undefined],
    ["http://b", "UPSTREAM_UNREACHABLE", "ECONNREFUSED", undefined],
    ["http://a", "UPSTREAM_UNREACHABLE", "ECONNREFUSED", 99],
    ["http://b", "UPSTREAM_UNREACHABLE", "ECONNREFUSED", undefined],
  ])
})
