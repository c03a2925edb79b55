import { runServe } from "@sluice/server"
import type { GatewayInvocation, ServeInvocation } from "../catalog/serve.js"
import type { ExitCode } from "../command.js"

/** Resolves as soon as the service listens. The process then runs until a signal ends it. */
export async function runService({ rest }: ServeInvocation): Promise<ExitCode> {
  await runServe(rest, "sluice serve")
  return 0
}

/** Like `runService`, with the gateway and the control plane as its only listeners. */
export async function runGateway({ rest }: GatewayInvocation): Promise<ExitCode> {
  await runServe(["gateway", ...rest], "sluice")
  return 0
}
