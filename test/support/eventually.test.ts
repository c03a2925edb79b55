import { expect, it } from "vitest"
import { eventually } from "./eventually.js"

it("returns the first value that is neither false, null nor undefined", async () => {
  const answers = [false, null, undefined, 0]
  expect(await eventually(() => answers.shift(), { every: 1 })).toBe(0)
})

it("treats an exception as not yet", async () => {
  let looks = 0
  const probe = (): string => {
    if (++looks < 3) throw new Error("not yet")
    return "now"
  }
  expect(await eventually(probe, { every: 1 })).toBe("now")
})

it("names what it waited for and the last thing it saw", async () => {
  const probe = (): never => {
    throw new Error("refused")
  }
  const wait = eventually(probe, { within: 20, every: 5, what: "the server answers" })
  await expect(wait).rejects.toThrow(/^the server answers: not so within 20 ms \(\d looks; last: refused\)$/)
})

it("does not wait for a probe that hangs", async () => {
  const hanging = eventually(() => new Promise<never>(() => undefined), { within: 20 })
  await expect(hanging).rejects.toThrow("no look finished")
})
