import { expect, it, vi } from "vitest"

vi.stubGlobal("navigator", { languages: ["en"] })
const { changesOf } = await import("./conflict.js")

it("lists every change of several revisions once", () => {
  const none = { added: [], removed: [], changed: [], sections: [] }
  const revisions = [
    { changes: { ...none, changed: ["api", "login"] } },
    { changes: { ...none, changed: ["api"], removed: ["search"], sections: ["deny"] } },
  ]
  expect(changesOf(revisions)).toEqual({
    ...none,
    changed: ["api", "login"],
    removed: ["search"],
    sections: ["deny"],
  })
  expect(changesOf([])).toEqual(none)
})
