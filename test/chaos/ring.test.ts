import type { ShardedStore } from "sluice/redis"
import { afterAll, beforeAll, expect, it } from "vitest"
import { keysWithoutExpiry } from "../redis/expiry-scan.js"
import { type RedisRing, startRing } from "../support/redis/ring.js"
import type { RedisServer } from "../support/redis/single.js"
import type { Sample } from "./load.js"
import { expectNoUnhandledRejections } from "./rejections.js"
import { isDegraded, PATIENT_DEADLINE, underLoad } from "./subject.js"

expectNoUnhandledRejections()

let ring: RedisRing

beforeAll(async () => {
  ring = await startRing(3)
})
afterAll(() => ring.stop())

const ends: {
  name: string
  end: (server: RedisServer) => Promise<void>
  mend: (server: RedisServer) => Promise<void>
}[] = [
  { name: "dead", end: (server) => server.kill(), mend: (server) => server.restart() },
  { name: "frozen", end: (server) => server.pause(), mend: async (server) => server.resume() },
]

it.each(ends)(
  "one $name node of a ring degrades its own share only",
  { timeout: 30_000 },
  async ({ end, mend }) => {
    const subject = await underLoad(
      ring.url,
      { otherKeys: 64, perSecond: 600 },
      { deadline: PATIENT_DEADLINE },
    )
    const { load } = subject
    await subject.shared()
    const victim = ring.servers[1] as RedisServer
    const name = `${victim.host}:${victim.port}`
    const isTheirs = ({ key }: Sample): boolean =>
      (subject.store as unknown as ShardedStore).nodeOf(key) === name

    const endedAt = performance.now()
    await end(victim)
    await subject.only(isTheirs)
    await mend(victim)
    await subject.shared()
    await subject.sound()
    expect(load.since(endedAt).filter((sample) => isDegraded(sample) && !isTheirs(sample))).toEqual([])
    await subject.close()
    expect(await keysWithoutExpiry(ring.servers)).toEqual([])
  },
)
