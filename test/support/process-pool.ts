import { type ChildProcess, fork } from "node:child_process"
import { fileURLToPath } from "node:url"

/**
 * Real Node processes that do the same work at the same moment. The script is a plain .mjs module:
 *
 *     export async function prepare(job) { … }        // optional: connect, warm up; its result is `prepared`
 *     export async function run(job, prepared) { … }  // starts when all processes are prepared; returns JSON
 */
export interface PoolOptions<Job> {
  script: string | URL
  /** One process per job. */
  jobs: readonly Job[]
  /** The time limit of the run, in milliseconds. Preparation has a separate limit of 30 s. Default 30,000. */
  timeoutMs?: number
  env?: Readonly<Record<string, string>>
  execArgv?: readonly string[]
}

export interface ProcessPool<Result> {
  readonly processes: readonly PoolProcess[]
  /** Starts all processes at once, waits for every result, and returns the results in the order of the jobs. */
  run(): Promise<Result[]>
  /** Kills the processes that still run. `run` calls it itself: call it only for a pool that never runs. */
  stop(): Promise<void>
}

export interface PoolProcess {
  readonly pid: number
  kill(signal: "SIGKILL" | "SIGTERM" | "SIGSTOP" | "SIGCONT"): void
}

type Message = { readonly ready: true } | { readonly result: unknown } | { readonly failed: string }

const READY_WITHIN_MS = 30_000
const RUNNER = fileURLToPath(new URL("./pool-process.mjs", import.meta.url))

/** Starts the processes, runs them, and returns one result of each. */
export async function runProcesses<Result, Job = unknown>(options: PoolOptions<Job>): Promise<Result[]> {
  const pool = await startPool<Result, Job>(options)
  return pool.run()
}

/** Starts the processes and waits until all are prepared. */
export async function startPool<Result, Job = unknown>(
  options: PoolOptions<Job>,
): Promise<ProcessPool<Result>> {
  const { timeoutMs = 30_000 } = options
  const members = options.jobs.map((job, index) => new Member(index, job, options))
  const stop = async (): Promise<void> => {
    await Promise.all(members.map((member) => member.stop()))
  }
  const all = async (
    what: "ready" | "done",
    withinMs: number,
    question?: { go: true },
  ): Promise<unknown[]> => {
    const answers = members.map((member) => member.ask(question ?? { job: member.job }))
    let timer: NodeJS.Timeout | undefined
    const late = new Promise<never>((_, reject) => {
      timer = setTimeout(() => {
        const waiting = members.filter((member) => member.waiting).map((member) => member.describe())
        reject(new Error(`not ${what} within ${withinMs} ms:\n${waiting.join("\n")}`))
      }, withinMs)
    })
    try {
      return await Promise.race([Promise.all(answers), late])
    } catch (error) {
      await stop()
      throw error
    } finally {
      clearTimeout(timer)
    }
  }

  await all("ready", READY_WITHIN_MS)
  return {
    processes: members,
    async run() {
      // Every process has loaded its module and opened its connections, so one message to each starts them.
      const results = await all("done", timeoutMs, { go: true })
      await stop()
      return results as Result[]
    },
    stop,
  }
}

class Member implements PoolProcess {
  readonly job: unknown
  readonly #index: number
  readonly #child: ChildProcess
  readonly #ended: Promise<void>
  #stderr = ""
  #answer: { resolve: (value: unknown) => void; reject: (error: Error) => void } | undefined
  #death: string | undefined

  constructor(index: number, job: unknown, { script, env = {}, execArgv = [] }: PoolOptions<unknown>) {
    this.job = job
    this.#index = index
    const file = script instanceof URL ? fileURLToPath(script) : script
    this.#child = fork(RUNNER, [file], {
      env: { ...process.env, ...env },
      execArgv: [...execArgv],
      stdio: ["ignore", "ignore", "pipe", "ipc"],
    })
    this.#child.stderr?.setEncoding("utf8").on("data", (text: string) => {
      this.#stderr = (this.#stderr + text).slice(-8_192)
    })
    this.#child.on("message", (message) => this.#receive(message as Message))
    this.#ended = new Promise((resolve) => {
      // `close` and not `exit`: only then has all of stderr been read.
      this.#child.once("close", (code, signal) => {
        this.#death = `ended with ${signal ?? `code ${code}`}`
        this.#fail(this.#death)
        resolve()
      })
    })
    this.#child.once("error", (error) => this.#fail(error.message))
  }

  get pid(): number {
    return this.#child.pid ?? Number.NaN
  }

  get waiting(): boolean {
    return this.#answer !== undefined
  }

  kill(signal: "SIGKILL" | "SIGTERM" | "SIGSTOP" | "SIGCONT"): void {
    this.#child.kill(signal)
  }

  ask(question: { job: unknown } | { go: true }): Promise<unknown> {
    return new Promise((resolve, reject) => {
      this.#answer = { resolve, reject }
      if (this.#death !== undefined) this.#fail(this.#death)
      else this.#child.send(question, (error) => error && this.#fail(error.message))
    })
  }

  async stop(): Promise<void> {
    this.#answer = undefined
    this.#child.kill("SIGKILL")
    await this.#ended
  }

  describe(): string {
    const stderr = this.#stderr.trim()
    return `process ${this.#index} (pid ${this.pid})${stderr === "" ? "" : `, stderr:\n${stderr}`}`
  }

  #receive(message: Message): void {
    if ("failed" in message) {
      this.#fail(message.failed)
      return
    }
    const answer = this.#answer
    this.#answer = undefined
    answer?.resolve("result" in message ? message.result : undefined)
  }

  #fail(reason: string): void {
    const answer = this.#answer
    this.#answer = undefined
    answer?.reject(new Error(`${reason}: ${this.describe()}`))
  }
}
