import { expect, it } from "vitest"
import { eventually } from "../../../../test/support/eventually.js"
import { RuleThread } from "./rule-thread.js"
import { orElse } from "./source-work.js"

const text = '{"version":1,"rules":[]}'

it("stops work that takes too long, so that the caller can do it instead", async () => {
  const rules = Array.from({ length: 5_000 }, (_, i) => ({ id: `r${i}`, limits: "unlimited" }))
  const thread = new RuleThread({ deadlineMs: 1, memoryMb: 64 })
  const work = () => thread.run({ kind: "format", text: JSON.stringify({ version: 1, rules }) })
  await expect(work()).rejects.toMatchObject({
    code: "RULES_INVALID",
    problems: [{ message: "takes too long to read" }],
  })
  expect(await work().catch(orElse(() => "here"))).toBe("here")
})

it("does not count the start of the thread, which takes long on a busy machine", async () => {
  const deadlineMs = 50
  await eventually(async () => {
    const started = performance.now()
    const thread = new RuleThread({ deadlineMs, memoryMb: 64 })
    const isDone = await thread.run({ kind: "format", text }).then(
      () => true,
      orElse(() => false),
    )
    return isDone && performance.now() - started > deadlineMs
  })
})

it("reports mistakes with the name of the source", async () => {
  const thread = new RuleThread({ deadlineMs: 10_000, memoryMb: 64 })
  const wrong = thread.run({ kind: "revision", text: "{}", name: "the rules in Redis" })
  await expect(wrong.catch(orElse(() => "here"))).rejects.toThrow(/^the rules in Redis: 1 mistake/)
})
