import { afterAll, describe, expect, it } from "vitest"
import { type Form, type Kind, kinds, runSchedule } from "./schedule.js"

/** `SLUICE_SCHEDULES=1000000` for a long run, `SLUICE_SEED=…` to begin with another seed, `SLUICE_ONE=…` to play one schedule. */
const total = Number(process.env.SLUICE_SCHEDULES ?? 20_000)
const first = Number(process.env.SLUICE_SEED ?? Math.floor(Math.random() * 2 ** 31))
const only = process.env.SLUICE_ONE === undefined ? undefined : Number(process.env.SLUICE_ONE)

/** One limit of each kind, and two or three together. */
const cases: readonly (readonly [title: string, among: readonly (readonly Kind[])[]])[] = [
  ...kinds.map((kind) => [kind, [[kind]]] as const),
  ["two limits", [kinds, kinds]],
  ["three limits", [kinds, kinds, kinds]],
]

const played = { schedules: 0, admitted: 0, byLease: 0, returned: 0 }

afterAll(() => {
  const { schedules, admitted, byLease, returned } = played
  process.stdout.write(
    `test/leases: ${schedules} schedules from seed ${first}, ${admitted} admitted, ${byLease} of them by leases, ${returned} units handed back (again: SLUICE_SEED=${first} npx vitest run test/leases/simulator.test.ts)\n`,
  )
})

/** The first schedule that breaks a promise; undefined if none of them does. */
async function firstBroken(
  among: readonly (readonly Kind[])[],
  form: Form,
  count: number,
  from = first,
): Promise<{ seed: number; excess: number; after: number } | undefined> {
  for (let i = 0; i < count; i++) {
    const seed = only ?? (from + i) >>> 0
    const { excess, admitted, byLease, returned } = await runSchedule(seed, among, form)
    played.schedules++
    played.admitted += admitted
    played.byLease += byLease
    played.returned += returned
    if (excess > 0) return { seed, excess, after: i + 1 }
    if (only !== undefined) return undefined
  }
  return undefined
}

describe("with leases nobody is admitted beyond the limit", { timeout: 24 * 3_600_000 }, () => {
  it.each(cases)("%s", async (title, among) => {
    const broken = await firstBroken(among, "leased", Math.ceil(total / cases.length))
    if (broken === undefined) return
    const again = `SLUICE_ONE=${broken.seed} npx vitest run test/leases/simulator.test.ts -t "${title}"`
    throw new Error(
      `schedule ${broken.seed} admitted ${broken.excess} units too many. Play it again:\n${again}`,
    )
  })
})

describe("leases without a margin break the promise within 100 schedules", () => {
  it.each(["token-bucket", "gcra", "leaky-bucket", "sliding-window-log"] as const)("%s", async (kind) => {
    expect(await firstBroken([[kind]], "plain", 100, 1)).toBeDefined()
  })
})
