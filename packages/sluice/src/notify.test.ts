import { runInNewContext } from "node:vm"
import { expect, it } from "vitest"
import { warn } from "./notify.js"

it("warns of an error of another realm, as the library has under Jest, with its name and code", async () => {
  const warned = new Promise<Error>((resolve) => process.once("warning", resolve))
  const error = runInNewContext(
    'Object.assign(new TypeError("of another realm"), { code: "ELSEWHERE" })',
  ) as Error
  expect(error).not.toBeInstanceOf(Error)
  warn(error)
  expect(await warned).toMatchObject({ name: "TypeError", code: "ELSEWHERE", message: "of another realm" })
})

it.each([["a text"], [undefined], [Object.create(null)]])(
  "warns of %o, which is no error",
  async (thrown) => {
    const warned = new Promise<Error>((resolve) => process.once("warning", resolve))
    warn(thrown)
    expect((await warned).message).toMatch(/text|undefined|without a message/)
  },
)
