// One application in one process, on a core of its own.

import { answer } from "../harness/child.mjs"
import { stayOnCore } from "../harness/cores.mjs"
import { contenderOf } from "./contenders.mjs"

answer({
  /** @param {{ framework: string, name: string, core: number | undefined }} detail */
  async listen({ framework, name, core }) {
    if (core !== undefined) stayOnCore(core)
    return { port: await contenderOf(framework, name).listen() }
  },
  /** Processor time so far, in µs. */
  usage() {
    const { user, system } = process.cpuUsage()
    return { micros: user + system }
  },
})
