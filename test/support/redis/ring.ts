import { type RedisOptions, type RedisServer, startAll, stopAll } from "./single.js"

/** Independent servers for a consistent-hash ring. */
export interface RedisRing {
  readonly servers: readonly RedisServer[]
  /** `redis+ring://127.0.0.1:p1,127.0.0.1:p2,…` */
  readonly url: string
  stop(): Promise<void>
}

export async function startRing(size = 3, options: RedisOptions = {}): Promise<RedisRing> {
  const servers = await startAll(Array.from({ length: size }, () => options))
  const hosts = servers.map(({ host, port }) => `${host}:${port}`).join(",")
  return { servers, url: `redis+ring://${hosts}`, stop: () => stopAll(servers) }
}
