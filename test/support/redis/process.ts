import { type ChildProcess, spawn, spawnSync } from "node:child_process"
import { closeSync, existsSync, openSync, readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { eventually } from "../eventually.js"
import { LOOPBACK, type ReservedPort, reservePort } from "../ports.js"
import { processState } from "../process-state.js"
import { closeRoom, openRoom, setOccupant } from "../sandbox.js"
import { toolPath } from "../tool.js"
import { RespError } from "./resp.js"
import { RespConnection } from "./resp-connection.js"

/** Directives of redis.conf. An array repeats the directive. `undefined` removes a default. */
export type RedisConfig = Readonly<Record<string, string | number | readonly string[] | undefined>>

export interface RedisProcessOptions {
  /** Directives that extend and override the defaults: no persistence, loopback only, DEBUG allowed. */
  config?: RedisConfig
  /** Runs the server as a Sentinel. */
  sentinel?: boolean
  /** The path of a program to run instead of redis-server. */
  program?: string | undefined
}

const DEFAULTS: RedisConfig = {
  bind: LOOPBACK,
  "protected-mode": "no",
  daemonize: "no",
  save: '""',
  appendonly: "no",
}

// Chaos tests block a server with DEBUG SLEEP, which this directive allows. Sentinels and Redis 6 do not have the directive,
// and Redis 6 does not need it.
const DATA_SERVER_DEFAULTS: RedisConfig = { "enable-debug-command": "local" }
const DEBUG_COMMAND_SINCE = 7
const majors = new Map<string, number>()

/** The major version of a server program. Valkey continues the version numbers of Redis. */
function majorOf(program: string): number {
  const known = majors.get(program)
  if (known !== undefined) return known
  const { stdout } = spawnSync(program, ["--version"], { encoding: "utf8" })
  // If the program does not run, starting the server reports it.
  const major = Number(/\bv=(\d+)/.exec(stdout ?? "")?.[1] ?? DEBUG_COMMAND_SINCE)
  majors.set(program, major)
  return major
}

const READY_WITHIN_MS = 10_000
const PORT_TRIES = 5

/** Starts one server on a reserved port and waits until it answers. */
export async function startRedisProcess(options: RedisProcessOptions = {}): Promise<RedisProcess> {
  for (let tries = 1; ; tries++) {
    const server = new RedisProcess(await reservePort(), options)
    try {
      await server.start()
      return server
    } catch (error) {
      const portTaken = /address already in use/i.test(server.log())
      await server.stop()
      if (!portTaken || tries === PORT_TRIES) throw error
    }
  }
}

/** A real redis-server (or valkey-server) as a process of the operating system. */
export class RedisProcess {
  readonly host = LOOPBACK
  readonly #reserved: ReservedPort
  readonly #room: string
  readonly #configFile: string
  readonly #args: readonly string[]
  readonly #program: string
  #child: ChildProcess | undefined
  #ended: Promise<void> = Promise.resolve()
  #lastWords = ""
  #paused = false
  #stopped = false

  constructor(reserved: ReservedPort, { config = {}, sentinel = false, program }: RedisProcessOptions) {
    this.#reserved = reserved
    this.#program = program ?? toolPath("redis-server")
    this.#room = openRoom(sentinel ? "sentinel" : "redis")
    this.#configFile = join(this.#room, "redis.conf")
    const mayAllowDebug = !sentinel && majorOf(this.#program) >= DEBUG_COMMAND_SINCE
    const defaults = mayAllowDebug ? { ...DEFAULTS, ...DATA_SERVER_DEFAULTS } : DEFAULTS
    const own = { port: reserved.port, dir: `"${this.#room}"` }
    writeFileSync(this.#configFile, renderConfig({ ...defaults, ...config, ...own }))
    this.#args = sentinel ? [this.#configFile, "--sentinel"] : [this.#configFile]
  }

  get port(): number {
    return this.#reserved.port
  }

  /** The private directory of the server. */
  get dir(): string {
    return this.#room
  }

  get pid(): number | undefined {
    return this.#child?.pid
  }

  /** False after the process was killed or stopped, or died by itself. A paused process is running. */
  get running(): boolean {
    return this.#child !== undefined
  }

  /** Running and not paused. */
  get answering(): boolean {
    return this.running && !this.#paused
  }

  /** Everything that the server has logged, including before restarts. */
  log(): string {
    const file = join(this.#room, "log")
    return existsSync(file) ? readFileSync(file, "utf8") : ""
  }

  async start(): Promise<void> {
    if (this.#stopped) throw new Error(`the server on port ${this.port} was stopped for good`)
    if (this.#child !== undefined) throw new Error(`the server on port ${this.port} is running already`)
    const child = this.#spawn()
    try {
      await eventually(() => this.#child !== child || this.#answers(), {
        within: READY_WITHIN_MS,
        every: 5,
        what: `the server on port ${this.port} answers`,
      })
      if (this.#child !== child)
        throw new Error(`the server on port ${this.port} ended with ${this.#lastWords}`)
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error)
      throw new Error(`${reason}; its log:\n${lastLines(this.log())}`, { cause: error })
    }
  }

  /** Sends SIGKILL: the server cannot notify clients or replicas. */
  async kill(): Promise<void> {
    if (this.#child === undefined) return
    this.#child.ref()
    this.#child.kill("SIGKILL")
    await this.#ended
  }

  /** Sends SIGSTOP: connections stay open, the kernel accepts new ones, and the server answers nothing. */
  async pause(): Promise<void> {
    const pid = this.#signal("SIGSTOP")
    // The signal takes effect shortly after kill(2) returns. Until then the server may still answer.
    const stopped = (): boolean => (processState(pid) ?? "T") === "T"
    this.#paused = true
    await eventually(stopped, { every: 1, what: `process ${pid} stops` })
  }

  /** Sends SIGCONT after `pause`. */
  resume(): void {
    this.#signal("SIGCONT")
    this.#paused = false
  }

  /** Kills the process if it runs, and starts it again on the same port, in the same directory. Data is lost unless `config` saves it. */
  async restart(): Promise<void> {
    await this.kill()
    await this.start()
  }

  /** Ends the process, removes its directory, and releases the port. Safe to call twice. */
  async stop(): Promise<void> {
    await this.kill()
    if (this.#stopped) return
    this.#stopped = true
    closeRoom(this.#room)
    await this.#reserved.release()
  }

  #spawn(): ChildProcess {
    // A file and not a pipe: a test process that is busy must never be what blocks the server.
    const log = openSync(join(this.#room, "log"), "a")
    const child = spawn(this.#program, this.#args, {
      cwd: this.#room,
      stdio: ["ignore", log, log],
    })
    closeSync(log)
    this.#child = child
    this.#ended = new Promise((resolve) => {
      const end = (lastWords: string): void => {
        this.#child = undefined
        this.#paused = false
        this.#lastWords = lastWords
        setOccupant(this.#room, undefined)
        resolve()
      }
      child.once("exit", (code, signal) => end(signal ?? `exit code ${code}`))
      child.once("error", (error) => end(error.message))
    })
    setOccupant(this.#room, child.pid)
    // A script that forgets to stop its servers can still end; the exit hook then kills them.
    child.unref()
    return child
  }

  async #answers(): Promise<boolean> {
    let connection: RespConnection | undefined
    try {
      connection = await RespConnection.open(this, { timeoutMs: 1_000 })
      await connection.command("PING")
      // Were the port another server's, that one would answer while ours is still failing to bind.
      return String(await connection.command("INFO", "server")).includes(this.#configFile)
    } catch (error) {
      // NOAUTH and the like come from a server that is up.
      return error instanceof RespError && error.code !== "LOADING"
    } finally {
      connection?.close()
    }
  }

  #signal(signal: "SIGSTOP" | "SIGCONT"): number {
    const pid = this.#child?.pid
    if (pid === undefined)
      throw new Error(`cannot send ${signal}: the server on port ${this.port} is not running`)
    process.kill(pid, signal)
    return pid
  }
}

function renderConfig(config: RedisConfig): string {
  const lines: string[] = []
  for (const [directive, value] of Object.entries(config)) {
    if (value === undefined) continue
    const values = typeof value === "object" ? value : [value]
    for (const one of values) lines.push(`${directive} ${one}`)
  }
  return `${lines.join("\n")}\n`
}

function lastLines(text: string): string {
  return text.trimEnd().split("\n").slice(-20).join("\n")
}
