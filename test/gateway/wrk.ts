import { execFile } from "node:child_process"
import { promisify } from "node:util"
import { toolPath } from "../support/tool.js"

export interface Load {
  /** Ends wrk, and returns the lines in which it reports errors. There should be none. */
  stop(): Promise<string[]>
}

/** Loads a server with wrk, on connections that are kept, for a second at a time until it is stopped. */
export function loadWithWrk(url: string, connections: number): Load {
  const wrk = toolPath("wrk")
  let isOver = false
  const ended = (async () => {
    const failures: string[] = []
    while (!isOver) {
      const args = ["-t1", `-c${connections}`, "-d1s", "--timeout", "60s", url]
      const { stdout } = await promisify(execFile)(wrk, args)
      failures.push(...(stdout.match(/^.*(Socket errors|Non-2xx).*$/gm) ?? []))
    }
    return failures
  })()
  return {
    stop() {
      isOver = true
      return ended
    },
  }
}
