// Settings as options of the library.

import type { RedisClientOptions } from "sluice/redis"
import type { GuardRails } from "sluice/rules"
import type { Config } from "./schema.js"

/** The settings that have a value. The library takes a missing option, but no undefined one. */
export function given<Settings extends object>(
  settings: Settings,
): { [Name in keyof Settings]?: Exclude<Settings[Name], undefined> } {
  const entries = Object.entries(settings).filter(([, value]) => value !== undefined)
  return Object.fromEntries(entries) as ReturnType<typeof given<Settings>>
}

/** The configured guard rails. Undefined if there are none: rule sets are then read in a thread. */
export function guardRailsOf({ rules }: Pick<Config, "rules">): GuardRails | undefined {
  const rails = given(rules.guardRails)
  return Object.keys(rails).length === 0 ? undefined : rails
}

/** The options of every Redis client that the service opens. */
export function clientOptions(store: Config["store"]): RedisClientOptions {
  const { connectTimeout, socketTimeout, maxReconnectDelay } = store
  return given({ connectTimeout, socketTimeout, maxReconnectDelay })
}
