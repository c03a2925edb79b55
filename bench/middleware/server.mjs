// One application in one process, on a core of its own.

import { setTimeout as sleep } from "node:timers/promises"
import { answer, collectGarbage } from "../harness/child.mjs"
import { stayOnCore } from "../harness/cores.mjs"
import { contenderOf } from "./contenders.mjs"

const IDLE_COLLECTIONS = 3

answer({
  /** @param {{ framework: string, name: string, core: number | undefined }} detail */
  async listen({ framework, name, core }) {
    if (core !== undefined) stayOnCore(core)
    return { port: await contenderOf(framework, name).listen() }
  },
  /** What hours with pauses do to a server: several full collections while it has nothing to do. */
  async idle() {
    for (let i = 0; i < IDLE_COLLECTIONS; i++) {
      await sleep(20)
      collectGarbage()
    }
  },
  /** Processor time so far, in µs. */
  usage() {
    const { user, system } = process.cpuUsage()
    return { micros: user + system }
  },
})
