import { setImmediate as turn } from "node:timers/promises"
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest"
import { compilePolicy } from "../../policy.js"
import type { Outcome } from "../store.js"
import { Namespace } from "../store.js"
import { Batcher } from "./batcher.js"
import type { RedisConnection } from "./client.js"
import { CHECK } from "./codec.js"

const FULL = 32
const NOW = Date.UTC(2026, 0, 1) * 1000
const policy = compilePolicy({ algorithm: "token-bucket", limit: 1_000, window: "1m" }, "test")
const charges = [{ namespace: new Namespace("test"), key: "key", policy, cost: 1 }]

/** A connection on which the test answers. */
class Wire implements RedisConnection {
  readonly isCluster = false
  keepsOrder = true
  /** What happened, in order. */
  readonly events: string[] = []
  readonly calls: { answer: (reply: unknown) => void; refuse: (error: Error) => void }[] = []

  send(_key: string | undefined, [command]: (string | Buffer)[]): Promise<unknown> {
    return this.#sent(String(command).toLowerCase())
  }

  ready(): undefined {}

  #sent(command: string): Promise<unknown> {
    this.events.push(command)
    return new Promise((answer, refuse) => this.calls.push({ answer, refuse }))
  }
}

/** What the script replies to so many checks of an unused bucket. */
function reply(checks: number): Buffer {
  return Buffer.from(new Float64Array([NOW, ...Array<number>(checks * 2).fill(0)]).buffer)
}

let wire: Wire
let batcher: Batcher

function openBatcher(deadlineMs = 10_000): void {
  batcher = new Batcher(wire, { deadlineMs, expiry: { bufferMs: 1_000, minMs: 1_000 } })
}

function check(): Promise<Outcome> {
  return batcher.submit(CHECK, charges, ["key"], undefined)
}

/** So many checks, which nobody waits for. */
function checks(count: number): void {
  for (let i = 0; i < count; i++) check().catch(() => undefined)
}

beforeEach(() => {
  wire = new Wire()
  openBatcher()
})
afterEach(() => batcher.close())

describe("a call", () => {
  it("leaves when the tick is over", async () => {
    checks(FULL - 1)
    expect(wire.calls).toHaveLength(0)
    await turn()
    expect(wire.calls).toHaveLength(1)
  })

  it("leaves at once when it is full, and the rest when the tick is over", async () => {
    checks(FULL + 8)
    expect(wire.calls).toHaveLength(1)
    await turn()
    expect(wire.calls).toHaveLength(2)
  })

  it("waits for the end of the tick if other checks of this tick could overtake it", async () => {
    wire.keepsOrder = false
    checks(FULL + 8)
    expect(wire.calls).toHaveLength(0)
    await turn()
    expect(wire.calls).toHaveLength(2)
  })
})

describe("answers that come at once", () => {
  it("are delivered one after the other, so that new checks leave in between", async () => {
    for (const name of ["first", "second"]) {
      for (let i = 0; i < FULL; i++) {
        void check().then(() => {
          wire.events.push(name)
          checks(1)
        })
      }
    }
    expect(wire.events).toEqual(["evalsha", "evalsha"])
    for (const { answer } of [...wire.calls]) answer(reply(FULL))
    await turn()
    const given = (name: string) => Array<string>(FULL).fill(name)
    expect(wire.events.slice(2)).toEqual([...given("first"), "evalsha", ...given("second"), "evalsha"])
  })

  it("are all delivered, also without new checks", async () => {
    const answers = Promise.all(Array.from({ length: 5 * FULL }, check))
    for (const { answer } of [...wire.calls]) answer(reply(FULL))
    expect((await answers).every(({ allowed }) => allowed)).toBe(true)
  })
})

describe("a server without the script", () => {
  const noScript = new Error("NOSCRIPT No matching script.")
  /** The source is sent when everything that has arrived was read: one turn for the answer, one for that. */
  /** Lets so many milliseconds pass, one at a time: a longer step counts as time in which the process was blocked. */
  const pass = async (ms: number) => {
    for (let i = 0; i < ms; i++) {
      vi.advanceTimersByTime(1)
      await turn()
    }
    await sentAgain()
  }
  const sentAgain = async () => {
    await turn()
    await turn()
  }

  it("is sent its source", async () => {
    const answer = check()
    await turn()
    wire.calls[0]?.refuse(noScript)
    await sentAgain()
    expect(wire.events).toEqual(["evalsha", "eval"])
    wire.calls[1]?.answer(reply(1))
    expect((await answer).allowed).toBe(true)
  })

  it("is sent it with the first call only, if calls keep their order", async () => {
    checks(3 * FULL)
    for (const { refuse } of [...wire.calls]) refuse(noScript)
    await sentAgain()
    expect(wire.events.slice(3)).toEqual(["eval", "evalsha", "evalsha"])
  })

  it("is sent it with each call, if a call may overtake another", async () => {
    wire.keepsOrder = false
    checks(2 * FULL)
    await turn()
    for (const { refuse } of [...wire.calls]) refuse(noScript)
    await sentAgain()
    expect(wire.events.slice(2)).toEqual(["eval", "eval"])
  })

  it("is sent it with a call that met it without the script twice", async () => {
    checks(2 * FULL)
    for (const { refuse } of [...wire.calls]) refuse(noScript)
    await sentAgain()
    wire.calls[3]?.refuse(noScript)
    await sentAgain()
    expect(wire.events.slice(2)).toEqual(["eval", "evalsha", "eval"])
  })

  it("is sent it only once with each call", async () => {
    const answer = check()
    await turn()
    wire.calls[0]?.refuse(noScript)
    await sentAgain()
    wire.calls[1]?.refuse(noScript)
    await expect(answer).rejects.toMatchObject({ name: "StoreFailure" })
    expect(wire.events).toEqual(["evalsha", "eval"])
  })

  it("has the whole deadline again for the repeated call, and no longer", async () => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance"] })
    openBatcher(50)
    const answers = [check(), check()]
    const failed = expect(answers[1]).rejects.toMatchObject({ kind: "timeout", ambiguous: true })
    await turn()
    const states: string[] = []
    for (const answer of answers)
      answer.then(
        () => states.push("answered"),
        () => states.push("failed"),
      )
    await pass(40)
    wire.calls[0]?.refuse(noScript)
    await sentAgain()
    await pass(40)
    expect(states).toEqual([])
    await pass(20)
    expect(states).toEqual(["failed", "failed"])
    await failed
    vi.useRealTimers()
  })

  it("is not sent it for a check that has timed out", async () => {
    openBatcher(1)
    await expect(check()).rejects.toMatchObject({ kind: "timeout", ambiguous: true })
    const sent = wire.events.length
    wire.calls[0]?.refuse(noScript)
    await sentAgain()
    expect(wire.events.slice(sent).filter((command) => command === "eval")).toEqual([])
  })
})

it("a reply that cannot be read fails the check, and not the process", async () => {
  const answer = check()
  await turn()
  wire.calls[0]?.answer(null)
  await expect(answer).rejects.toMatchObject({ name: "StoreFailure", kind: "other" })
})

it("a request that cannot be encoded fails alone, with a typed failure that charged nothing", async () => {
  const broken = [{ ...(charges[0] as (typeof charges)[0]), policy: undefined as unknown as typeof policy }]
  const asked = Promise.allSettled([check(), batcher.submit(CHECK, broken, ["key"], undefined), check()])
  await turn()
  for (const call of wire.calls) call.answer(reply(1))
  const [first, second, third] = await asked
  expect(first).toMatchObject({ status: "fulfilled", value: { allowed: true } })
  expect(third).toMatchObject({ status: "fulfilled", value: { allowed: true } })
  expect(second).toMatchObject({
    status: "rejected",
    reason: { name: "StoreFailure", kind: "other", ambiguous: false },
  })
})

it("a client that throws when it is sent the source fails the call, and nothing else", async () => {
  const asked = check()
  await turn()
  wire.send = () => {
    throw new Error("Connection is closed.")
  }
  wire.calls[0]?.refuse(new Error("NOSCRIPT No matching script."))
  await expect(asked).rejects.toMatchObject({ name: "StoreFailure", kind: "connection" })
})
