import { describe, expect, it } from "vitest"
import { SluiceError } from "../../errors.js"
import type { Steps } from "../language/steps.js"
import type { RuleSet } from "./rule-set.js"
import type { RuleSetRevision } from "./rule-source.js"
import { SetFollower } from "./set-follower.js"

/** A follower of revisions, by their etag: `large` ones take many steps, `slow` ones few long ones. `bad` is refused. */
function start() {
  const used: number[] = []
  const refused: string[] = []
  const follower = new SetFollower({
    *compile({ revision, etag }): Steps<RuleSet> {
      for (let step = 0; step < (etag === "large" ? 200 : 2); step++) {
        const ms = { large: 0.2, slow: 15 }[etag] ?? 0
        for (const end = performance.now() + ms; performance.now() < end; );
        yield
      }
      if (etag === "bad") throw new SluiceError("SECRET_MISSING", { place: "here", expected: "is required" })
      return { revision } as RuleSet
    },
    use: (set) => void used.push(set.revision),
    onRefused: ({ code }) => void refused.push(code),
  })
  const follow = (revision: number, etag: string) => follower.follow({ revision, etag } as RuleSetRevision)
  return { used, refused, follower, follow }
}

describe("SetFollower", () => {
  it("applies a small set at once, and a large one later", async () => {
    const { used, follower, follow } = start()
    follow(2, "small")
    expect(used).toEqual([2])
    follow(3, "large")
    expect(used).toEqual([2])
    await follower.settled()
    expect(used).toEqual([2, 3])
  })

  it("applies a small set at once on a slow machine too", () => {
    const { used, follow } = start()
    follow(2, "slow")
    expect(used).toEqual([2])
  })

  it("applies sets in order, and continues after one that is refused", async () => {
    const { used, refused, follower, follow } = start()
    follow(2, "large")
    follow(3, "small")
    follow(4, "bad")
    follow(5, "large")
    follow(6, "small")
    expect(used).toEqual([])
    await follower.settled()
    expect(used).toEqual([2, 3, 5, 6])
    expect(refused).toEqual(["SECRET_MISSING"])
    follow(7, "small")
    expect(used.at(-1)).toBe(7)
  })

  it("applies nothing after it is closed", async () => {
    const { used, follower, follow } = start()
    follow(2, "large")
    follow(3, "small")
    follower.close()
    await follower.settled()
    expect(used).toEqual([])
  })
})
