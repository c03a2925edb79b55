import { readFile } from "node:fs/promises"
import { fileURLToPath } from "node:url"
import { SluiceError } from "sluice"
import { openRedisClient } from "sluice/redis"
import {
  type EditableRuleSource,
  fileRules,
  objectRules,
  parseRuleSet,
  type RuleSourceEvent,
  redisRules,
} from "sluice/rules"
import { clientOptions, given, guardRailsOf } from "../config/as-options.js"
import type { Config } from "../config/schema.js"
import { ruleWork } from "../rule-work/source-work.js"
import type { Log } from "../telemetry/log.js"

/** The rules that are in force when the configuration names none. The file ships with the package. */
export const EXAMPLE_RULES = fileURLToPath(new URL("../../example-rules.yaml", import.meta.url))

export interface OpenRules {
  readonly source: EditableRuleSource
  close(): Promise<void>
}

/** Opens the configured rules: from a file, from Redis, inline, or the example. */
export async function openRules(config: Config, log: Log): Promise<OpenRules> {
  const { file, inline, redis, poll, history, historyFile } = config.rules
  const options = {
    ...given({ history, guardRails: guardRailsOf(config) }),
    onEvent: (event: RuleSourceEvent) => logEvent(event, log),
  }
  if (redis.enabled) {
    const client = await openRedisClient(redis.url ?? config.store.url, clientOptions(config.store))
    try {
      const source = await redisRules(client, {
        ...options,
        ...given({ poll, deadline: redis.deadline, lastGood: redis.lastGood }),
        name: redis.name,
        initial: inline ?? (await readRules(file)),
        work: ruleWork,
      })
      return {
        source,
        async close() {
          await source.close()
          client.disconnect()
        },
      }
    } catch (error) {
      client.disconnect()
      throw error
    }
  }
  const source =
    file !== undefined
      ? await fileRules(file, { ...options, ...given({ poll, historyFile }), work: ruleWork })
      : objectRules(inline ?? (await readRules()), options)
  return { source, close: () => source.close() }
}

async function readRules(file = EXAMPLE_RULES): Promise<unknown> {
  const text = await readFile(file, "utf8").catch((cause: NodeJS.ErrnoException) => {
    const expected = cause.code === "ENOENT" ? "does not exist" : `could not be read: ${cause.message}`
    throw new SluiceError("RULES_IO", { place: file, expected, cause })
  })
  return parseRuleSet(text, { name: file })
}

function logEvent(event: RuleSourceEvent, log: Log): void {
  if (event.kind === "recovered") log.info("rules are up to date again")
  else if (event.kind === "restored")
    log.warn({ revision: event.revision }, "Redis had lost the rules; they were written back")
  else if (event.kind === "lost") log.error("Redis has lost the rules; keeping the current rules")
  else
    log.error(
      { code: event.error.code, error: event.error.message },
      `rules ${event.kind}; keeping the current rules`,
    )
}
