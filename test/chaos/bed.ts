import { FaultProxy } from "../support/fault-proxy.js"
import type { RedisConfig } from "../support/redis/process.js"
import type { RespConnection } from "../support/redis/resp-connection.js"
import { type RedisServer, startRedis } from "../support/redis/single.js"

/** One server, a proxy in front of it, and a connection that was opened before the fault. */
export interface Bed {
  readonly redis: RedisServer
  readonly proxy: FaultProxy
  readonly control: RespConnection
  stop(): Promise<void>
}

export interface BedOptions {
  config?: RedisConfig
  password?: string
  /** Of the proxy's jitter. */
  random?: () => number
}

export async function openBed({ random, ...options }: BedOptions = {}): Promise<Bed> {
  const redis = await startRedis(options)
  const proxy = await FaultProxy.start(redis, random === undefined ? {} : { random })
  const control = await redis.connect()
  return {
    redis,
    proxy,
    control,
    async stop() {
      control.close()
      await proxy.close()
      await redis.stop()
    },
  }
}
