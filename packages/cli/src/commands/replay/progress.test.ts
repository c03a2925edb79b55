import { afterEach, beforeAll, describe, expect, it, vi } from "vitest"
import { buildCli, inTerminal, killAll, sluice, temporaryFolder } from "../../cli.test-support.js"
import { progressLine } from "./progress.js"

// The tests start processes, which takes long on a busy machine.
vi.setConfig({ testTimeout: 60_000 })

beforeAll(buildCli, 120_000)
afterEach(killAll)

describe("the progress of a replay", () => {
  it("has a bar, a rate and the remaining time if the size is known", () => {
    expect(progressLine(50_000, 0.5, 25, 100)).toBe(
      `${"█".repeat(6)}${"░".repeat(18)} 25%  50,000 lines, 100,000 a second, 2 s left`,
    )
    expect(progressLine(50_000, 0.5, 100, 100)).toContain("100%  50,000 lines, 100,000 a second, 0 ms left")
  })

  it("has only a rate if the size is unknown", () => {
    expect(progressLine(50_000, 0.5, 25, undefined)).toBe("50,000 lines, 100,000 a second")
  })

  it("is drawn in a terminal and cleared at the end, and not drawn into a pipe", async () => {
    const folder = temporaryFolder()
    const line = '192.0.2.1 - - [17/May/2026:10:05:03 +0000] "GET / HTTP/1.1" 200 512\n'
    const log = folder.write("access.log", line.repeat(60_000))
    const rules = folder.write(
      "rules.yaml",
      "version: 1\nrules: [{ id: a, limits: [{ limit: 1, window: 1m }] }]\n",
    )
    const shown = inTerminal(["replay", log, "--rules", rules])
    expect(await shown.ended).toEqual([0, null])
    expect(shown.output()).toMatch(/█.*\d+%.*lines, [\d,]+ a second/)
    expect(shown.output().split("\r\x1b[K").at(-1)).toMatch(/^60,000 requests from 1 client/)
    const piped = await sluice(["replay", log, "--rules", rules])
    expect(piped.stderr).toBe("")
    folder.remove()
  })
})
