import { runServe } from "@sluice/server"
import { settingLines } from "@sluice/server/config"
import type { GatewayInvocation } from "../catalog/gateway.js"
import type { ServeInvocation } from "../catalog/serve.js"
import type { ExitCode } from "../command.js"

/** Resolves once it listens; the process lives on until a signal ends it. */
export async function serve({ rest }: ServeInvocation): Promise<ExitCode> {
  await runServe(rest, "sluice serve")
  return 0
}

/** The same, with the gateway in front and nothing else. */
export async function serveGateway({ rest }: GatewayInvocation): Promise<ExitCode> {
  await runServe(["gateway", ...rest], "sluice")
  return 0
}

/** Every setting of the service, as `--help` shows it. */
export function settingsHelp(): string {
  const config = `  ${"--config <file>".padEnd(34)} Default: sluice.config.yaml, if it is there.`
  return ["Settings:", config, ...settingLines()].join("\n")
}
