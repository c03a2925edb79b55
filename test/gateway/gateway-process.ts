// The gateway as a process of its own, as people run it.

import { readFileSync } from "node:fs"
import { LOOPBACK } from "../support/ports.js"
import { type Run, run } from "../support/service-process.js"

export interface GatewayProcess extends Run {
  readonly port: number
  readonly url: string
  /** The most memory it has had so far, in MiB. */
  peakMiB(): number
}

export async function startGatewayProcess(
  upstream: { readonly port: number },
  args: readonly string[] = [],
): Promise<GatewayProcess> {
  const process = run([
    "gateway",
    ...["--upstream", `http://${LOOPBACK}:${upstream.port}`],
    ...["--gateway.port=0", "--control.port=0", "--gateway.accessLog.format=off"],
    ...args,
  ])
  const address = await new Promise<string>((resolve, reject) => {
    process.child.stderr?.on("data", () => {
      const ready = process.logged().find(({ msg }) => msg === "ready")
      if (ready !== undefined) resolve((ready.addresses as { gateway: string }).gateway)
    })
    void process.ended.then(() => reject(new Error(`it ended without listening:\n${process.stderr()}`)))
  })
  const port = Number(address.slice(address.lastIndexOf(":") + 1))
  return {
    ...process,
    port,
    url: `http://${LOOPBACK}:${port}`,
    peakMiB() {
      const status = readFileSync(`/proc/${process.child.pid}/status`, "utf8")
      return Number(/^VmHWM:\s+(\d+) kB/m.exec(status)?.[1]) / 1024
    },
  }
}
