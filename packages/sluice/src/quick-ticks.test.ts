import { execFile } from "node:child_process"
import { fileURLToPath } from "node:url"
import { promisify } from "node:util"
import { rolldown } from "rolldown"
import { beforeAll, describe, expect, it } from "vitest"

const TICKS = 100_000
let bundled: string

beforeAll(async () => {
  const input = fileURLToPath(new URL("./quick-ticks.ts", import.meta.url))
  const build = await rolldown({ input, platform: "neutral" })
  const { output } = await build.generate({ format: "esm" })
  await build.close()
  bundled = output[0].code
})

/** How many times as long a tick takes after collections that found the process idle, in a process of its own. */
async function slowdown(start: string): Promise<number> {
  const program = `${bundled}
    const run = () => new Promise((resolve) => {
      const startedAt = performance.now()
      let left = ${TICKS}
      const tick = () => (--left === 0 ? resolve(performance.now() - startedAt) : process.nextTick(tick))
      tick()
    })
    const best = async () => {
      let least = Infinity
      for (let i = 0; i < 10; i++) least = Math.min(least, await run())
      return least
    }
    ${start}
    const before = await best()
    for (let i = 0; i < 6; i++) {
      await new Promise((resolve) => setTimeout(resolve, 10))
      gc()
    }
    console.log(await best() / before)
  `
  const args = ["--expose-gc", "--input-type=module", "--eval", program]
  return Number((await promisify(execFile)(process.execPath, args)).stdout)
}

describe("keepTicksQuick", () => {
  it("keeps a tick as quick as it was", async () => {
    expect(await slowdown("keepTicksQuick()")).toBeLessThan(2.3)
  })

  // When this fails with a newer Node, V8 has learnt it, and quick-ticks.ts is of no more use.
  it("is needed", async () => {
    expect(await slowdown("")).toBeGreaterThan(2.3)
  })

  it("does nothing where there is no process", async () => {
    const program = `${bundled}
      delete globalThis.process
      keepTicksQuick()
      console.log("done")
    `
    const { stdout } = await promisify(execFile)(process.execPath, ["--input-type=module", "--eval", program])
    expect(stdout).toBe("done\n")
  })
})
