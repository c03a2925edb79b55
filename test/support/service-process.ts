// Runs the service as a separate process, as users do.

import { type ChildProcess, spawn } from "node:child_process"
import { once } from "node:events"
import { existsSync } from "node:fs"
import { fileURLToPath } from "node:url"
import { build } from "./build.js"

const program = fileURLToPath(new URL("../../packages/server/dist/main.js", import.meta.url))
const running = new Set<ChildProcess>()

/** Builds the service. Call it before all tests, so that no test runs an old build. */
export function buildServer(): void {
  build("packages/server")
  if (!existsSync(program)) throw new Error("the build failed")
}

/** Kills all processes that were started here. Call it after each test. */
export function killAll(): void {
  for (const child of running) child.kill("SIGKILL")
  running.clear()
}

export interface Run {
  readonly child: ChildProcess
  /** The output so far. */
  readonly stdout: () => string
  readonly stderr: () => string
  /** The JSON lines that it logged to stderr, parsed. */
  readonly logged: () => Record<string, unknown>[]
  /** Resolves with the exit code and signal when the process has ended and all its output has arrived. */
  readonly ended: Promise<[code: number | null, signal: NodeJS.Signals | null]>
}

export function run(args: readonly string[] = [], env: Readonly<Record<string, string>> = {}): Run {
  const child = spawn(process.execPath, [program, ...args], {
    // Without this setting the service stores a token among the files of this user. Tests of tokens override it.
    env: { ...process.env, SLUICE_CONTROL__OPEN: "true", ...env },
    stdio: "pipe",
  })
  running.add(child)
  let stdout = ""
  let stderr = ""
  child.stdout.on("data", (chunk) => {
    stdout += chunk
  })
  child.stderr.on("data", (chunk) => {
    stderr += chunk
  })
  const ended = once(child, "close") as Promise<[number | null, NodeJS.Signals | null]>
  return {
    child,
    stdout: () => stdout,
    stderr: () => stderr,
    logged: () =>
      stderr
        .split("\n")
        .filter((line) => line.startsWith("{"))
        .map((line) => JSON.parse(line)),
    ended,
  }
}

export interface TerminalRun {
  /** Everything that the process wrote to the terminal. */
  readonly output: () => string
  type(keys: string): void
  readonly ended: Promise<unknown>
}

/** Runs the service in a pseudo-terminal, with `script` of util-linux. */
export function inTerminal(args: readonly string[], env: Readonly<Record<string, string>> = {}): TerminalRun {
  const words = [process.execPath, program, ...args].map((word) => `'${word.replaceAll("'", "'\\''")}'`)
  const child = spawn("script", ["-qfec", `exec ${words.join(" ")}`, "/dev/null"], {
    env: { ...process.env, ...env },
    stdio: "pipe",
  })
  running.add(child)
  let output = ""
  child.stdout.setEncoding("utf8").on("data", (chunk) => {
    output += chunk
  })
  return {
    output: () => output,
    type: (keys) => void child.stdin.write(keys),
    ended: once(child, "close"),
  }
}

export interface Running extends Run {
  /** The URL of the data plane. */
  readonly url: string
  readonly addresses: Readonly<Record<string, string>>
}

const FREE_PORTS = ["http", "grpc", "control", "resp", "gateway"].map((plane) => `--${plane}.port=0`)

/** Starts the service on free ports, and waits until it logs that it is ready. */
export async function start(
  args: readonly string[] = [],
  env: Readonly<Record<string, string>> = {},
): Promise<Running> {
  // If the first argument is no flag, it is a command and must stay first.
  const commands = args.slice(0, args[0]?.startsWith("-") === false ? 1 : 0)
  const process = run([...commands, ...FREE_PORTS, ...args.slice(commands.length)], env)
  const addresses = await new Promise<Record<string, string>>((resolve, reject) => {
    process.child.stderr?.on("data", () => {
      const ready = process.logged().find(({ msg }) => msg === "ready")
      if (ready !== undefined) resolve(ready.addresses as Record<string, string>)
    })
    void process.ended.then(() => reject(new Error(`it ended without listening:\n${process.stderr()}`)))
  })
  return { ...process, addresses, url: `http://${addresses.http}` }
}
