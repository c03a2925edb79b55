// Child process: one log, replayed once, on one core.

import { createReadStream } from "node:fs"
import { replay } from "../../packages/server/dist/replay/index.js"
import { answer, collectGarbage } from "../harness/child.mjs"
import { stayOnCore } from "../harness/cores.mjs"
import { RULES } from "./cases.mjs"

answer({
  async run(/** @type {{ path: string, warmUp?: string, core?: number }} */ { path, warmUp, core }) {
    if (core !== undefined) stayOnCore(core)
    if (warmUp !== undefined) await once(warmUp)
    collectGarbage()
    const started = performance.now()
    const before = process.cpuUsage()
    const { lines, candidates } = await once(path)
    const seconds = (performance.now() - started) / 1000
    const { user, system } = process.cpuUsage(before)
    return {
      lines,
      seconds,
      cpuSeconds: (user + system) / 1e6,
      denied: candidates[0]?.denied ?? 0,
      peakBytes: process.resourceUsage().maxRSS * 1024,
    }
  },
})

/** @param {string} path */
async function once(path) {
  const chunks = createReadStream(path, { highWaterMark: 262_144 })
  return await replay(chunks, { rules: [{ name: "three rules", ruleSet: RULES }] })
}
