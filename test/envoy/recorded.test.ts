import { ManualClock } from "sluice/testing"
import { describe, expect, it } from "vitest"
import { startEnvoy } from "../../packages/server/src/envoy/start-envoy.js"
import { say } from "../h2spec/replay.js"
import { openCore, portOf } from "../service/bed.js"
import { afterThis } from "../support/after-this.js"
import { answeredBy, sentBy } from "./calls.js"
import { readRecordings } from "./recording.js"

const recordings = readRecordings()

// `npm run test:envoy` runs Envoy itself, which is 100 MB.
describe("the service answers what a real Envoy has asked as it did then", () => {
  it.each(recordings.map((recording) => [recording.scenario, recording] as const))(
    "%s",
    async (_, { rules, options, steps, calls }) => {
      const clock = new ManualClock()
      const { core, close } = openCore(rules, clock)
      afterThis(close)
      const errors: unknown[] = []
      const onError = (error: unknown) => void errors.push(error)
      const sluice = await startEnvoy(core, { host: "127.0.0.1", port: 0, onError, ...options })
      afterThis(() => sluice.close(0))

      const bytes = steps.map((step) => ({ ...step, bytes: Buffer.from(step.bytes, "hex") }))
      const { client, end } = await say(bytes, portOf(sluice.address), {
        before: (step) => clock.advance(steps[step]?.advancedMs ?? 0),
      })
      expect(end).toBe("open")
      const sent = sentBy(Buffer.concat(bytes.map((step) => step.bytes)))
      const answered = answeredBy(client.frames)
      for (const call of calls) {
        expect(sent.get(call.stream)).toEqual(call.sent)
        expect(answered.get(call.stream)).toEqual(call.answered)
      }
      expect(errors).toEqual([])
    },
  )

  it("in every scenario in which it is asked, and in both ways", () => {
    expect(recordings.length).toBeGreaterThanOrEqual(10)
    const codes = recordings.flatMap(({ calls }) =>
      calls.map(({ answered }) => (answered.answer as { overallCode?: string } | null)?.overallCode),
    )
    expect(codes.filter((code) => code === "OK").length).toBeGreaterThan(20)
    expect(codes.filter((code) => code === "OVER_LIMIT").length).toBeGreaterThan(10)
  })
})
