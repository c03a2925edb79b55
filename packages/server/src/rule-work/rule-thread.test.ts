import { expect, it } from "vitest"
import { RuleThread } from "./rule-thread.js"
import { orElse } from "./source-work.js"

const text = '{"version":1,"rules":[]}'

it("gives up work that takes too long, which is then done elsewhere", async () => {
  // A thread takes longer than this to start.
  const thread = new RuleThread({ deadlineMs: 1, memoryMb: 64 })
  const work = () => thread.run({ kind: "format", text })
  await expect(work()).rejects.toMatchObject({
    code: "RULES_INVALID",
    problems: [{ message: "takes too long to read" }],
  })
  expect(await work().catch(orElse(() => "here"))).toBe("here")
})

it("tells mistakes by the name of what was read", async () => {
  const thread = new RuleThread({ deadlineMs: 10_000, memoryMb: 64 })
  const wrong = thread.run({ kind: "revision", text: "{}", name: "the rules in Redis" })
  await expect(wrong.catch(orElse(() => "here"))).rejects.toThrow(/^the rules in Redis: 1 mistake/)
})
