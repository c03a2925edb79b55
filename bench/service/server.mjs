// One server in one process, on a core of its own.

import { answer } from "../harness/child.mjs"
import { stayOnCore } from "../harness/cores.mjs"
import { servers } from "./contenders.mjs"

answer({
  /** @param {{ server: string, core: number | undefined, answer: import("./contenders.mjs").Answer }} detail */
  async listen({ server, core, answer: given }) {
    if (core !== undefined) stayOnCore(core)
    return { port: await servers[server]?.(given) }
  },
  /** Processor time so far in µs, and memory. */
  usage() {
    const { user, system } = process.cpuUsage()
    return { micros: user + system, rssMiB: process.memoryUsage.rss() / 2 ** 20 }
  },
})
