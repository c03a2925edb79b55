import { type RedisConfig, startRedisProcess } from "./process.js"
import type { RespReply } from "./resp.js"
import { callRedis, RespConnection, type RespOptions } from "./resp-connection.js"

export interface RedisOptions {
  /** Directives of redis.conf, e.g. `{ maxmemory: "2mb", "maxmemory-policy": "noeviction" }`. */
  config?: RedisConfig
  /** Sets `requirepass`. `cli`, `connect` and `url` then use the password. */
  password?: string
  /** Runs the server as a Sentinel. */
  sentinel?: boolean
  /** The path of a program to run instead of redis-server. */
  program?: string
}

/** A running server. Every method works without its object, for example after destructuring. */
export interface RedisServer {
  readonly host: string
  readonly port: number
  /** `redis://127.0.0.1:port`, with the password if there is one. */
  readonly url: string
  /** The private directory of the server. `stop` removes it. */
  readonly dir: string
  readonly pid: number | undefined
  /** False after the server was killed or stopped, or died by itself. A paused server is running. */
  readonly running: boolean
  /** Running and not paused. */
  readonly answering: boolean
  /** Sends one command over a new connection. Rejects with a `RespError` if the server replies with an error. */
  cli(...args: readonly (string | number)[]): Promise<RespReply>
  /** Opens a connection that the caller closes, e.g. to lower `maxclients` and still send commands afterwards. */
  connect(options?: RespOptions): Promise<RespConnection>
  /** Sends SIGKILL. */
  kill(): Promise<void>
  /** Sends SIGSTOP, and resolves when the process has stopped. */
  pause(): Promise<void>
  /** Sends SIGCONT. */
  resume(): void
  /** Restarts the server on the same port, in the same directory. Data is lost unless `config` saves it. */
  restart(): Promise<void>
  /** Ends the server and removes its directory. It cannot start again. */
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

/** Starts several servers at once. If one fails to start, stops the others. */
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
