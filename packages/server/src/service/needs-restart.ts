import { isDeepStrictEqual } from "node:util"
import type { Config } from "../config/schema.js"

/** Settings of the gateway that take effect without a restart. */
const FOLLOWED: readonly string[] = ["upstream", "upstreams", "routes", "deadlines", "tls", "accessLog"]

/** The changed settings that need a restart to take effect: `http`, `gateway.port`. */
export function needsRestart(before: Config, after: Config): string[] {
  const { gateway: gatewayBefore, ...restBefore } = before
  const { gateway: gatewayAfter, ...restAfter } = after
  return [
    ...differing(restBefore, restAfter),
    ...differing(gatewayBefore, gatewayAfter)
      .filter((name) => !FOLLOWED.includes(name))
      .map((name) => `gateway.${name}`),
  ]
}

function differing(before: object, after: object): string[] {
  const values = new Map(Object.entries(after))
  return Object.entries(before)
    .filter(([name, value]) => !isDeepStrictEqual(value, values.get(name)))
    .map(([name]) => name)
}
