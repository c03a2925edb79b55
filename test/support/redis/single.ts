import { type RedisConfig, startRedisProcess } from "./process.js"
import type { RespReply } from "./resp.js"
import { callRedis, RespConnection, type RespOptions } from "./resp-connection.js"

export interface RedisOptions {
  /** Directives of redis.conf, e.g. `{ maxmemory: "2mb", "maxmemory-policy": "noeviction" }`. */
  config?: RedisConfig
  /** Sets `requirepass`; `cli`, `connect` and `url` then carry it. */
  password?: string
  /** Run as a Sentinel. */
  sentinel?: boolean
  /** The path of another program than redis-server. */
  program?: string
}

/** A running server. Every method may be taken off the object and called alone. */
export interface RedisServer {
  readonly host: string
  readonly port: number
  /** `redis://127.0.0.1:port`, with the password if there is one. */
  readonly url: string
  /** The private directory of the server; gone after `stop`. */
  readonly dir: string
  readonly pid: number | undefined
  /** False once killed, stopped or dead. A paused server is running. */
  readonly running: boolean
  /** Running and not paused. */
  readonly answering: boolean
  /** Sends one command over a connection of its own. Rejects with a `RespError` when the server answers with one. */
  cli(...args: readonly (string | number)[]): Promise<RespReply>
  /** A connection to keep, e.g. to lower `maxclients` and still get in afterwards. The caller closes it. */
  connect(options?: RespOptions): Promise<RespConnection>
  /** SIGKILL. */
  kill(): Promise<void>
  /** SIGSTOP; resolves when the process has really stopped. */
  pause(): Promise<void>
  /** SIGCONT. */
  resume(): void
  /** Same port, same directory; the data is lost unless `config` saves it. */
  restart(): Promise<void>
  /** Ends it for good and leaves nothing behind. */
  stop(): Promise<void>
  log(): string
}

export async function startRedis({
  config = {},
  password,
  sentinel = false,
  program,
}: RedisOptions = {}): Promise<RedisServer> {
  const access = password === undefined ? {} : { password }
  const server = await startRedisProcess({
    config: password === undefined ? config : { requirepass: JSON.stringify(password), ...config },
    sentinel,
    program,
  })
  const { host, port, dir } = server
  const login = password === undefined ? "" : `:${encodeURIComponent(password)}@`
  return {
    host,
    port,
    dir,
    url: `redis://${login}${host}:${port}`,
    get pid() {
      return server.pid
    },
    get running() {
      return server.running
    },
    get answering() {
      return server.answering
    },
    cli: (...args) => callRedis({ host, port }, args, access),
    connect: (options) => RespConnection.open({ host, port }, { ...access, ...options }),
    kill: () => server.kill(),
    pause: () => server.pause(),
    resume: () => server.resume(),
    restart: () => server.restart(),
    stop: () => server.stop(),
    log: () => server.log(),
  }
}

/** Starts several servers at once. If one fails to start, none is left running. */
export async function startAll(many: readonly RedisOptions[]): Promise<RedisServer[]> {
  const started = await Promise.allSettled(many.map((options) => startRedis(options)))
  const servers = started.flatMap((result) => (result.status === "fulfilled" ? [result.value] : []))
  const failure = started.find((result) => result.status === "rejected")
  if (failure !== undefined) {
    await stopAll(servers)
    throw failure.reason
  }
  return servers
}

export async function stopAll(servers: readonly RedisServer[]): Promise<void> {
  await Promise.all(servers.map((server) => server.stop()))
}
