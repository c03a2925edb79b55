// Does what the Dockerfile says without an engine: every stage is a folder, the commands are run in it, and what comes out is
// started. What it cannot show: the base image, users and rights, and the layers.

import { spawn, spawnSync } from "node:child_process"
import { once } from "node:events"
import { cpSync, existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, statSync } from "node:fs"
import { tmpdir } from "node:os"
import { delimiter, dirname, join, relative } from "node:path"
import { eventually } from "../support/eventually.js"
import { reservePort } from "../support/ports.js"
import { deployText, repository } from "./deploy-files.js"
import { isSent, readCommand, readCopy, readDockerfile, readVariables, type Stage } from "./dockerfile.js"

export interface Played {
  readonly packages: number
  readonly megabytes: number
  /** Native code would bind the image to the system it was built on. */
  readonly native: readonly string[]
  readonly notPlayed: readonly string[]
}

type Say = (what: string) => void

// The node that runs this is the one that the commands find.
const env = { ...process.env, PATH: `${dirname(process.execPath)}${delimiter}${process.env.PATH}` }

/** Throws when a command fails, or when the built service does not answer, fails its health check, or ignores SIGTERM. */
export async function playImage(say: Say): Promise<Played> {
  const work = mkdtempSync(join(tmpdir(), "sluice-image-"))
  try {
    const stages = readDockerfile(deployText("Dockerfile"))
    const notPlayed: string[] = []
    stages.forEach((stage, i) => {
      notPlayed.push(...build(stage, join(work, stage.name ?? String(i)), work, say))
    })
    const last = stages.at(-1) as Stage
    const image = join(work, last.name ?? String(stages.length - 1))
    await tryOut(last, image, say)
    const files = filesUnder(image)
    return {
      packages: files.filter((file) => /node_modules\/(@[^/]+\/)?[^/@]+\/package\.json$/.test(file)).length,
      megabytes: files.reduce((sum, file) => sum + statSync(join(image, file)).size, 0) / 1e6,
      native: files.filter((file) => file.endsWith(".node")),
      notPlayed,
    }
  } finally {
    rmSync(work, { recursive: true, force: true })
  }
}

function build({ from, instructions }: Stage, folder: string, work: string, say: Say): string[] {
  const notPlayed: string[] = []
  const base = join(work, from)
  if (existsSync(base)) cpSync(base, folder, { recursive: true, verbatimSymlinks: true })
  else mkdirSync(folder)
  for (const { name, rest } of instructions) {
    if (name === "COPY") copy(rest, folder, work)
    else if (name === "RUN" && / \//.test(rest)) notPlayed.push(rest)
    else if (name === "RUN") {
      say(rest)
      const { status } = spawnSync("sh", ["-c", rest], { cwd: folder, env, stdio: ["ignore", 2, 2] })
      if (status !== 0) throw new Error(`ended with ${status}: ${rest}`)
    }
  }
  return notPlayed
}

function copy(rest: string, folder: string, work: string): void {
  const { from, sources, target } = readCopy(rest)
  const ignore = deployText("Dockerfile.dockerignore")
  for (const source of sources) {
    // In a stage the working folder is /app, and here it is the folder of the stage.
    const found =
      from === undefined ? join(repository, source) : join(work, from, source.replace(/^\/app/, ""))
    const isFolder = statSync(found).isDirectory()
    const into = isFolder ? join(folder, target) : join(folder, target, source.split("/").at(-1) as string)
    const isWanted = (path: string) => {
      const name = relative(repository, path)
      return statSync(path).isDirectory() ? !/(^|\/)(node_modules|dist)$/.test(name) : isSent(ignore, name)
    }
    cpSync(found, into, {
      recursive: true,
      verbatimSymlinks: true,
      ...(from === undefined ? { filter: isWanted } : {}),
    })
  }
}

async function tryOut({ instructions }: Stage, image: string, say: Say): Promise<void> {
  const rest = (name: string) => instructions.find((instruction) => instruction.name === name)?.rest ?? ""
  const [http, grpc, control] = await Promise.all([reservePort(), reservePort(), reservePort()])
  const variables = {
    ...readVariables(rest("ENV")),
    // The image listens for everybody, and a test for this machine only.
    SLUICE_HTTP__HOST: "127.0.0.1",
    SLUICE_GRPC__HOST: "127.0.0.1",
    SLUICE_HTTP__PORT: String(http.port),
    SLUICE_GRPC__PORT: String(grpc.port),
    SLUICE_CONTROL__PORT: String(control.port),
    SLUICE_CONTROL__OPEN: "true",
  }
  const run = { cwd: image, env: { ...env, ...variables } }
  const [program = "", ...args] = readCommand(rest("ENTRYPOINT"))
  const [checker = "", ...checkerArgs] = readCommand(rest("HEALTHCHECK"))
  const isHealthy = () => spawnSync(checker, checkerArgs, { ...run, stdio: "ignore" }).status === 0
  say([program, ...args].join(" "))
  if (isHealthy()) throw new Error("the health check passes before anything runs")
  const child = spawn(program, args, { ...run, stdio: ["ignore", 2, 2] })
  const ended = once(child, "exit")
  try {
    await eventually(isHealthy, { within: 20_000, every: 200, what: "the health check passes" })
    const question = { method: "POST", path: "/login", ip: "203.0.113.7" }
    const answer = await fetch(`http://127.0.0.1:${http.port}/v1/check`, {
      method: "POST",
      body: JSON.stringify(question),
    })
    const { allowed, rule } = (await answer.json()) as { allowed: boolean; rule: string }
    if (!allowed || rule !== "login") throw new Error("it does not decide by the example rules")
    child.kill("SIGTERM")
    const [code] = await ended
    if (code !== 0) throw new Error(`it ended with ${code} when it was told to`)
  } finally {
    child.kill("SIGKILL")
    await Promise.all([http, grpc, control].map((port) => port.release()))
  }
}

function filesUnder(folder: string): string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => relative(folder, join(entry.parentPath, entry.name)))
}
