// The service as a process of its own, as people run it.

import { type ChildProcess, spawn } from "node:child_process"
import { once } from "node:events"
import { existsSync } from "node:fs"
import { fileURLToPath } from "node:url"
import { build } from "./build.js"

const program = fileURLToPath(new URL("../../packages/server/dist/main.js", import.meta.url))
const running = new Set<ChildProcess>()

/** Call it before all tests: a test never runs an old build. */
export function buildServer(): void {
  build("packages/server")
  if (!existsSync(program)) throw new Error("the build failed")
}

/** Call it after each test. */
export function killAll(): void {
  for (const child of running) child.kill("SIGKILL")
  running.clear()
}

export interface Run {
  readonly child: ChildProcess
  /** What it has written so far. */
  readonly stdout: () => string
  readonly stderr: () => string
  /** Its lines of JSON. */
  readonly logged: () => Record<string, unknown>[]
  /** Its code and signal, once its output is all there. */
  readonly ended: Promise<[code: number | null, signal: NodeJS.Signals | null]>
}

export function run(args: readonly string[] = [], env: Readonly<Record<string, string>> = {}): Run {
  const child = spawn(process.execPath, [program, ...args], {
    // A test that is about tokens says so. Others must not leave one with the files of this user.
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
  /** Every byte that the terminal was sent. */
  readonly output: () => string
  type(keys: string): void
  readonly ended: Promise<unknown>
}

/** Runs it in a terminal of its own, by util-linux's `script`. */
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
  /** Of the data plane. */
  readonly url: string
  readonly addresses: Readonly<Record<string, string>>
}

const FREE_PORTS = ["http", "grpc", "control", "resp", "gateway"].map((plane) => `--${plane}.port=0`)

/** Starts it on free ports, and waits until it says that it is ready. */
export async function start(
  args: readonly string[] = [],
  env: Readonly<Record<string, string>> = {},
): Promise<Running> {
  // A command is the first word.
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
