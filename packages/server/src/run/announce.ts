import type { Config } from "../config/schema.js"
import type { Service } from "./service.js"

/** What a person at a terminal is told: where everything is, and one line to try. */
export function announcement({ addresses }: Pick<Service, "addresses">, config: Config): string {
  const { http, grpc, resp, control } = addresses
  const lines = [`Sluice listens on http://${http}`]
  if (grpc !== undefined) lines.push(`  gRPC (Envoy)   ${grpc}`)
  if (resp !== undefined) lines.push(`  Redis protocol ${resp}`)
  if (control !== undefined) lines.push(`  control plane  http://${control}`)
  const { file, inline, redis } = config.rules
  if (redis.enabled || file !== undefined || inline !== undefined) return `${lines.join("\n")}\n`
  return `${lines.join("\n")}

The rules are an example (packages/server/example-rules.yaml); --rules.file rules.yaml follows your own.
Five sign-ins of an address pass in 15 minutes. Run this six times:

  curl -i 'http://${http}/v1/check?status=429' -d '{"method":"POST","path":"/login","ip":"203.0.113.7"}'

`
}
