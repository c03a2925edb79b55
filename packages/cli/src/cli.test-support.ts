// The real command in a process of its own, as people run it: by itself, as a service, or in a terminal.

import { type ChildProcess, spawn } from "node:child_process"
import { once } from "node:events"
import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { Readable } from "node:stream"
import { fileURLToPath } from "node:url"
import { readConfig } from "@sluice/server/config"
import { build } from "../../../test/support/build.js"
import { eventually } from "../../../test/support/eventually.js"
import { type Service, startService as startInProcess } from "../../server/src/service/service.js"
import { createLog } from "../../server/src/telemetry/index.js"
import { runProgram } from "./program.js"
import { createTerminal } from "./terminal.js"

export const bin = fileURLToPath(new URL("../bin/sluice.js", import.meta.url))
const program = fileURLToPath(new URL("../dist/main.js", import.meta.url))
const running = new Set<ChildProcess>()
const servicesHere = new Set<Service>()

/** Call it before all tests: a test never runs an old build. */
export function buildCli(): void {
  build("packages/cli")
  if (!existsSync(program)) throw new Error("the build failed")
}

/** Call it after each test. */
export async function killAll(): Promise<void> {
  for (const child of running) child.kill("SIGKILL")
  running.clear()
  await Promise.all([...servicesHere].map((service) => service.close()))
  servicesHere.clear()
}

export interface RunOptions {
  readonly env?: Readonly<Record<string, string>>
  /** What it reads on standard input. */
  readonly input?: string
  readonly cwd?: string
}

export interface Result {
  readonly code: number | null
  readonly stdout: string
  readonly stderr: string
}

/** Runs it to its end. */
export async function sluice(args: readonly string[], { env, input, cwd }: RunOptions = {}): Promise<Result> {
  const child = track(spawn(process.execPath, [bin, ...args], { env: environment(env), cwd, stdio: "pipe" }))
  const read = outputOf(child)
  child.stdin?.on("error", () => {})
  child.stdin?.end(input)
  const [code] = (await once(child, "close")) as [number | null]
  running.delete(child)
  return { code, stdout: read.stdout(), stderr: read.stderr() }
}

/**
 * The same in this process, on its sources: a third of a second less. For what has been seen to work in a process of its
 * own already, and for mistakes.
 */
export async function sluiceHere(
  args: readonly string[],
  { env = {}, input = "" }: Omit<RunOptions, "cwd"> = {},
): Promise<Result> {
  const written = { stdout: "", stderr: "" }
  const stream = (name: "stdout" | "stderr") =>
    ({
      isTTY: false,
      write(text: string) {
        written[name] += text
        return true
      },
    }) as NodeJS.WriteStream
  const stdin = Readable.from([Buffer.from(input)]) as unknown as NodeJS.ReadStream
  const terminal = createTerminal({ stdin, stdout: stream("stdout"), stderr: stream("stderr") }, env)
  const code = await runProgram(args, { terminal, env })
  return { code, ...written }
}

/** Runs it to its end, and reads its JSON. */
export async function sluiceJson<T>(args: readonly string[], options?: RunOptions, run = sluice): Promise<T> {
  const { stdout, stderr } = await run([...args, "--json"], options)
  try {
    return JSON.parse(stdout) as T
  } catch {
    throw new Error(`no JSON: ${stdout}\n${stderr}`)
  }
}

export interface RunningService {
  readonly child: ChildProcess
  /** Of the data plane. */
  readonly url: string
  /** What other commands need in their environment to find it. */
  readonly env: Readonly<Record<string, string>>
  readonly addresses: Readonly<Record<string, string>>
  readonly stdout: () => string
  readonly ended: Promise<[code: number | null, signal: NodeJS.Signals | null]>
}

const FREE_PORTS = ["--http.port=0", "--grpc.port=0", "--control.port=0", "--resp.port=0", "--control.open"]

/** `sluice serve` (or what else serves) on free ports, once it says that it is ready. */
export async function startService(
  args: readonly string[] = [],
  command: readonly string[] = ["serve", ...FREE_PORTS],
): Promise<RunningService> {
  const child = track(
    spawn(process.execPath, [bin, ...command, ...args], { env: environment(), stdio: "pipe" }),
  )
  const { stdout, stderr } = outputOf(child)
  const ended = once(child, "close") as RunningService["ended"]
  const ready = await eventually(
    () => {
      if (child.exitCode !== null) throw new Error(`it ended: ${stderr()}`)
      return lines(stderr()).find(({ msg }) => msg === "ready")
    },
    { within: 20_000, what: "a service that is ready" },
  )
  const addresses = ready.addresses as Record<string, string>
  const url = `http://${addresses.http}`
  return {
    child,
    url,
    addresses,
    env: { SLUICE_URL: `http://${addresses.control}`, SLUICE_DATA_URL: url },
    stdout,
    ended,
  }
}

/**
 * The same service in this process, on its sources: a second less. For tests of commands that ask a service, and do not
 * care how it was started.
 */
export async function startServiceHere(
  args: readonly string[] = [],
): Promise<Pick<RunningService, "url" | "env">> {
  // The commands of a test keep connections open, which the service need not wait for.
  const argv = [...FREE_PORTS, "--drain.deadline=100ms", ...args]
  const { config } = readConfig({ argv, env: {} })
  const service = await startInProcess(config, { log: createLog({ level: "silent" }) })
  servicesHere.add(service)
  const { http, control } = service.addresses
  const url = `http://${http}`
  return { url, env: { SLUICE_URL: `http://${control}`, SLUICE_DATA_URL: url } }
}

export interface TerminalRun {
  readonly child: ChildProcess
  /** Every byte that the terminal was sent. */
  readonly output: () => string
  type(keys: string): void
  readonly ended: Promise<[code: number | null, signal: NodeJS.Signals | null]>
}

/** Runs it in a terminal of its own, by util-linux's `script`. */
export function inTerminal(args: readonly string[], { env }: RunOptions = {}): TerminalRun {
  const words = [process.execPath, bin, ...args].map((word) => `'${word.replaceAll("'", "'\\''")}'`)
  const command = `stty rows 24 cols 100; exec ${words.join(" ")}`
  const child = track(
    spawn("script", ["-qfec", command, "/dev/null"], {
      env: environment({ TERM: "xterm", ...env }),
      stdio: "pipe",
    }),
  )
  const { stdout } = outputOf(child)
  return {
    child,
    output: stdout,
    type: (keys) => void child.stdin?.write(keys),
    ended: once(child, "close") as TerminalRun["ended"],
  }
}

export interface Folder {
  readonly path: string
  /** Writes a file, and returns its path. */
  write(name: string, content: string): string
  remove(): void
}

export function temporaryFolder(): Folder {
  const path = mkdtempSync(join(tmpdir(), "sluice-cli-"))
  return {
    path,
    write(name, content) {
      writeFileSync(join(path, name), content)
      return join(path, name)
    },
    remove: () => rmSync(path, { recursive: true }),
  }
}

function track(child: ChildProcess): ChildProcess {
  running.add(child)
  return child
}

function outputOf(child: ChildProcess) {
  let stdout = ""
  let stderr = ""
  child.stdout?.setEncoding("utf8").on("data", (chunk: string) => {
    stdout += chunk
  })
  child.stderr?.setEncoding("utf8").on("data", (chunk: string) => {
    stderr += chunk
  })
  return { stdout: () => stdout, stderr: () => stderr }
}

function lines(text: string): Record<string, unknown>[] {
  return text
    .split("\n")
    .filter((line) => line.startsWith("{"))
    .map((line) => JSON.parse(line))
}

/** Nothing of ours from the surroundings, and none of what switches colours. */
function environment(more: Readonly<Record<string, string>> = {}): NodeJS.ProcessEnv {
  const kept = Object.entries(process.env).filter(([name]) => !/^(SLUICE_|NO_COLOR$|FORCE_COLOR$)/.test(name))
  return { ...Object.fromEntries(kept), ...more }
}
