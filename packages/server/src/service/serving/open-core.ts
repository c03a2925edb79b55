// The parts that every protocol asks: the store, the engine and the decision log. A single process and a worker open them alike.

import { fileSnapshot, memoryStore, type Store } from "sluice"
import { createRuleEngine, type EditableRuleSource } from "sluice/rules"
import { given } from "../../config/as-options.js"
import type { Config } from "../../config/schema.js"
import type { Core } from "../../core.js"
import { openRecord } from "../../record/open-record.js"
import type { WatchHub } from "../../telemetry/hub.js"
import type { Closers } from "./serve.js"

/** Opens the configured store. It does not wait for Redis: while Redis is away, decisions are degraded and say so. */
export async function openStore(config: Config["store"], watch: WatchHub): Promise<Store> {
  const { url, maxKeys, onFull, snapshot, breaker, ...redis } = config
  if (url !== "memory") {
    const { connectRedis } = await import("sluice/redis")
    return await connectRedis(url, {
      ...given(redis),
      breaker: given(breaker),
      onFailure: (event) => watch.storeFailed(event),
    })
  }
  return memoryStore({
    ...given({ maxKeys, onFull }),
    ...(snapshot === undefined ? {} : { snapshot: fileSnapshot(snapshot) }),
    onWarning: (warning) =>
      watch.log.warn({ code: warning.code, error: warning.message }, "snapshot of the memory store failed"),
  })
}

export interface CoreParts {
  readonly config: Config
  readonly watch: WatchHub
  readonly store: Store
  readonly rules: EditableRuleSource
  readonly secret: string | undefined
  /** Whether this process writes the decision log. With workers, each worker records its own decisions. */
  readonly records: boolean
}

/** Puts an engine on the store and the rules, and has `watch` observe them. `closers` closes what was opened. */
export function openCore(parts: CoreParts, closers: Closers): Core {
  const { config, watch, store, rules, secret, records } = parts
  const engine = createRuleEngine({
    rules,
    store,
    prefix: config.prefix,
    ...(secret === undefined ? {} : { secret }),
    onRefused: (error) => watch.log.error({ code: error.code, error: error.message }, "rules refused"),
  })
  closers.add(() => engine.close())
  watch.attach({ store, rules, leases: () => engine.leases, holds: () => engine.holds })
  const core = { engine, rules, store, watch }
  const log = records ? openRecord(config.record, { engine, log: watch.log }) : undefined
  if (log === undefined) return core
  closers.add(() => log.close())
  return { ...core, record: log.record }
}
