import { fileSnapshot, memoryStore, type Store } from "sluice"
import type { Config } from "../config/schema.js"
import type { WatchHub } from "../telemetry/index.js"

/** The store of the configuration. Does not wait for Redis: while it is away, decisions are degraded and say so. */
export async function openStore(config: Config["store"], watch: WatchHub): Promise<Store> {
  const { url, maxKeys, onFull, snapshot } = config
  if (url !== "memory") {
    const { connectRedis } = await import("sluice/redis")
    return await connectRedis(url, { onFailure: (event) => watch.storeFailed(event) })
  }
  return memoryStore({
    ...(maxKeys === undefined ? {} : { maxKeys }),
    ...(onFull === undefined ? {} : { onFull }),
    ...(snapshot === undefined ? {} : { snapshot: fileSnapshot(snapshot) }),
    onWarning: (warning) => watch.log.warn({ code: warning.code, error: warning.message }, "snapshot"),
  })
}
