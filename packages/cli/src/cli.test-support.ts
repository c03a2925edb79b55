// Runs the command as users do: in its own process, as a service, or in a terminal.

import { type ChildProcess, spawn } from "node:child_process"
import { once } from "node:events"
import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { Readable, Writable } from "node:stream"
import { fileURLToPath } from "node:url"
import { readConfig } from "@sluice/server/config"
import { build } from "../../../test/support/build.js"
import { eventually } from "../../../test/support/eventually.js"
import { type Service, startService as startInProcess } from "../../server/src/service/service.js"
import { createLog } from "../../server/src/telemetry/log.js"
import { runProgram } from "./program.js"
import { createStyle, createTerminal } from "./terminal/terminal.js"

export const bin = fileURLToPath(new URL("../bin/sluice.js", import.meta.url))
const program = fileURLToPath(new URL("../dist/main.js", import.meta.url))
const running = new Set<ChildProcess>()
const servicesHere = new Set<Service>()

// Commands that run in this process would print colours, which the tests of texts do not expect.
delete process.env.FORCE_COLOR

/** A style without colours. */
export const plainStyle = createStyle(new Writable())

/** Call it before all tests, so that no test runs an old build. */
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
  /** The content of standard input. */
  readonly input?: string
  readonly cwd?: string
}

export interface Result {
  readonly code: number | null
  readonly stdout: string
  readonly stderr: string
}

/** Runs the command in its own process until it exits. */
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
 * Runs the command in this process, from its sources. It takes a third of a second less than `sluice`, so use it for all
 * but one test of each command.
 */
export async function sluiceHere(
  args: readonly string[],
  { env = {}, input = "" }: Omit<RunOptions, "cwd"> = {},
): Promise<Result> {
  const written = { stdout: "", stderr: "" }
  const stream = (name: "stdout" | "stderr") =>
    new Writable({
      decodeStrings: false,
      write(text: string, _encoding, done) {
        written[name] += text
        done()
      },
    }) as unknown as NodeJS.WriteStream
  const stdin = Readable.from([Buffer.from(input)]) as unknown as NodeJS.ReadStream
  const terminal = createTerminal({ stdin, stdout: stream("stdout"), stderr: stream("stderr") }, env)
  const code = await runProgram(args, { terminal, env })
  return { code, ...written }
}

/** Runs the command with --json and parses its output. */
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
  /** The address of the data plane. */
  readonly url: string
  /** The variables by which other commands find this service. */
  readonly env: Readonly<Record<string, string>>
  readonly addresses: Readonly<Record<string, string>>
  readonly stdout: () => string
  readonly ended: Promise<[code: number | null, signal: NodeJS.Signals | null]>
}

const FREE_PORTS = ["--http.port=0", "--grpc.port=0", "--control.port=0", "--resp.port=0", "--control.open"]

/** Starts `sluice serve`, or another command that runs a service, and waits until it is ready. */
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
      if (child.exitCode !== null) throw new Error(`the service exited: ${stderr()}`)
      return lines(stderr()).find(({ msg }) => msg === "ready")
    },
    { within: 20_000, what: "the service to be ready" },
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
 * Starts the service in this process, from its sources. It takes a second less than `startService`, so use it for tests of
 * commands that call a service.
 */
export async function startServiceHere(
  args: readonly string[] = [],
): Promise<Pick<RunningService, "url" | "env">> {
  // The commands keep connections open, and the service must not wait for them when it closes.
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
  /** Everything that was written to the terminal. */
  readonly output: () => string
  type(keys: string): void
  readonly ended: Promise<[code: number | null, signal: NodeJS.Signals | null]>
}

/** Runs the command in a pseudo-terminal, which `script` of util-linux provides. */
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
  /** Writes a file and returns its path. */
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

/** The environment of this process without the variables of Sluice and those that switch colours: Node prints none if CI is set. */
function environment(more: Readonly<Record<string, string>> = {}): NodeJS.ProcessEnv {
  const kept = Object.entries(process.env).filter(
    ([name]) => !/^(SLUICE_|NO_COLOR$|FORCE_COLOR$|CI$)/.test(name),
  )
  return { ...Object.fromEntries(kept), ...more }
}
