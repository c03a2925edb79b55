// One proxy of npm in one process, on a core of its own.

import { answer } from "../harness/child.mjs"
import { stayOnCore } from "../harness/cores.mjs"
import { startPeer } from "./peers.mjs"

answer({
  /** @param {{ name: string, upstream: number, core: number | undefined }} detail */
  async listen({ name, upstream, core }) {
    if (core !== undefined) stayOnCore(core)
    return { port: await startPeer(name, `http://127.0.0.1:${upstream}`), pid: process.pid }
  },
})
