import { relative } from "node:path"
import { type Config, runsExampleRules } from "../config/schema.js"
import { EXAMPLE_RULES } from "./rules.js"
import type { Service } from "./service.js"
import { bundledDashboard } from "./serving/planes.js"

/** The text that `npm start` prints once the service listens: its addresses, and a command to try. */
export function announcement(
  { addresses, controlToken }: Pick<Service, "addresses" | "controlToken">,
  config: Config,
  isTerminal: boolean,
): string {
  const { http, grpc, resp, control, gateway } = addresses
  const gatewayUrl = gateway && `${config.gateway.tls.cert === undefined ? "http" : "https"}://${gateway}`
  const lines = [`Sluice listens on ${gatewayUrl ?? `http://${http}`}`]
  if (gatewayUrl !== undefined && http !== undefined) lines.push(`  check API      http://${http}`)
  if (grpc !== undefined) lines.push(`  gRPC (Envoy)   ${grpc}`)
  if (resp !== undefined) lines.push(`  Redis protocol ${resp}`)
  if (control !== undefined) {
    lines.push(`  control plane  http://${control}/docs`)
    // Output that is not a terminal may be collected and read by others, so the token is left out there.
    const fragment = controlToken !== undefined && isTerminal ? `/#token=${controlToken.token}` : ""
    if ((config.control.dashboard ?? bundledDashboard()) !== undefined)
      lines.push(`  dashboard      http://${control}${fragment}`)
    if (controlToken?.file !== undefined) lines.push(`  its token      ${controlToken.file}`)
  }
  if (!runsExampleRules(config)) return `${lines.join("\n")}\n`
  return `${lines.join("\n")}

The rules are an example (${relative("", EXAMPLE_RULES)}); --rules.file rules.yaml follows your own.
Five sign-ins of an address pass in 15 minutes. Run this six times:

  ${gatewayUrl === undefined ? signInCheck(http) : `curl -i -X POST ${gatewayUrl}/login`}

`
}

function signInCheck(http: string | undefined): string {
  return `curl -i 'http://${http}/v1/check?status=429' -d '{"method":"POST","path":"/login","ip":"203.0.113.7"}'`
}
