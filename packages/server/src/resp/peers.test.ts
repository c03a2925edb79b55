// CL.THROTTLE against what redis-cell and throttlecrab answered to the same commands at the same times. Recorded, because both
// are built by cargo: npm run test:peers.

import { readFileSync } from "node:fs"
import { expect, it } from "vitest"
import { start } from "./started.test-support.js"

interface Recorded {
  readonly ms: number
  readonly key: string
  /** max_burst, count and period. */
  readonly policy: readonly number[]
  readonly quantity: number
  /** Of redis-cell, in microseconds. */
  readonly reply: readonly number[]
  /** Of throttlecrab: limited, remaining, retry. Nothing where a key was idle before, which it lets save up for a second burst. */
  readonly crab: readonly number[] | undefined
}

function read() {
  const policies = new Map<string, readonly number[]>()
  const recorded: Recorded[] = []
  let ms = 0
  for (const line of readFileSync(new URL("../../../../test/peers/replies.txt", import.meta.url), "utf8")
    .trimEnd()
    .split("\n")) {
    const [kind, first, ...rest] = line.split(" ")
    if (kind === "#") continue
    if (kind === "start") ms = Number(first)
    else if (kind === "policy") policies.set(first as string, rest.map(Number))
    else {
      const [command = "", own = "", other = ""] = line.split(" | ")
      const [wait = 0, , quantity = 0] = command.split(" ").map(Number)
      ms += wait
      const reply = own.split(" ").map(Number)
      const crab = other === "=" ? reply.slice(0, 3) : other.split(" ").map(Number)
      const key = first as string
      const policy = policies.get(key.split(".")[0] as string) as readonly number[]
      recorded.push({ ms, key, policy, quantity, reply, crab: other === "-" ? undefined : crab })
    }
  }
  return recorded
}

const seconds = (micros = -1) => (micros < 0 ? -1 : Math.ceil(micros / 1_000_000))

it("CL.THROTTLE answers 8,000 commands as redis-cell does, and decides them as throttlecrab does", async () => {
  const recorded = read()
  expect(recorded.length).toBeGreaterThanOrEqual(8_000)
  const { connect, core } = await start()
  const client = await connect()
  const differences: string[] = []
  let compared = 0
  for (let i = 0; i < recorded.length; ) {
    // All commands of one moment in one pipeline.
    const { ms } = recorded[i] as Recorded
    const moment: Recorded[] = []
    for (; recorded[i]?.ms === ms; i++) moment.push(recorded[i] as Recorded)
    core.clock.set(ms)
    const replies = await Promise.all(
      moment.map(({ key, policy, quantity }) =>
        client.command("CL.THROTTLE", `k${key}`, ...policy, quantity),
      ),
    )
    for (const [at, { key, policy, quantity, reply, crab }] of moment.entries()) {
      const [limited = 0, remaining = 0, retry, reset] = reply
      const limit = (policy[0] as number) + 1
      const expected = [limited, limit, remaining, seconds(retry), seconds(reset)]
      if (String(replies[at]) !== String(expected))
        differences.push(`${ms} k${key} ${quantity}: ${replies[at]}, and redis-cell ${expected}`)
      if (crab === undefined) continue
      compared++
      // A quantity that never fits has no time to wait for; throttlecrab says one all the same.
      if (crab[0] !== limited || crab[1] !== remaining || (quantity <= limit && crab[2] !== retry))
        differences.push(`${ms} k${key} ${quantity}: ${replies[at]}, and throttlecrab ${crab}`)
    }
  }
  expect(differences).toEqual([])
  expect(compared).toBeGreaterThan(6_000)
}, 60_000)
