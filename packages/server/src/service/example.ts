import type { Config } from "../config/schema.js"

/** Whether nobody has said which rules to follow. */
export function runsExampleRules({ rules }: Pick<Config, "rules">): boolean {
  return !rules.redis.enabled && rules.file === undefined && rules.inline === undefined
}

/** The example rules on a store that nobody else counts in: somebody is looking around. */
export function runsExample(config: Pick<Config, "rules" | "store">): boolean {
  return runsExampleRules(config) && config.store.url === "memory"
}
