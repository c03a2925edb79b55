// The service as a command: reads its flags and runs until a signal stops it.

import { isDeepStrictEqual } from "node:util"
import { helpText, printConfig } from "../config/print.js"
import { readConfig } from "../config/read.js"
import type { Config } from "../config/schema.js"
import { VERSION } from "../version.js"
import { announcement } from "./announce.js"
import { commandLine } from "./command-line.js"
import { type Service, startService } from "./service.js"
import { logReloadFailure } from "./serving/serve.js"
import { ListenError } from "./serving/start-errors.js"

/**
 * Runs the command. Resolves once the service listens, or once it has printed what a flag asked for. Rejects when the service
 * cannot start. `program` is what the user typed before the arguments; error messages repeat it in commands to try.
 */
export async function runServe(argv: readonly string[], program = "npm start"): Promise<void> {
  if (argv.includes("--help")) return void process.stdout.write(helpText())
  if (argv.includes("--version")) return void process.stdout.write(`${VERSION}\n`)
  const { config, flags } = readConfig({ argv, env: process.env })
  if (flags.printConfig) return void process.stdout.write(printConfig(config))
  // At a terminal the announcement replaces the log line.
  const logsReady = !(process.stdout.isTTY && process.stderr.isTTY)
  const starting = startService(config, { logsReady })
  // A signal during the start waits for the start to finish. A second signal ends the process at once.
  onSignals({
    stop: () => starting.then(stop, ignore),
    reload: () => starting.then((service) => reload(service, config, argv), ignore),
    force: (signal) => process.exit(signal === "SIGINT" ? 130 : 143),
  })
  const service = await starting.catch((error: unknown) => {
    throw error instanceof ListenError ? new ListenError(error.failed, commandLine(program, argv)) : error
  })
  process.stdout.write(announcement(service, config, process.stdout.isTTY === true))
}

/** Reloads the rules, then the configuration. Changed rules take effect even if the configuration has a mistake. */
async function reload(service: Service, config: Config, argv: readonly string[]): Promise<void> {
  const { log, core } = service
  try {
    await service.reload()
    const next = readConfig({ argv, env: process.env }).config
    await service.follow(next)
    const ignored = needsRestart(config, next)
    if (ignored.length > 0) log.warn({ settings: ignored }, "changed settings need a restart")
    log.info({ revision: core.engine.revision }, "reloaded")
  } catch (error) {
    logReloadFailure(log, error)
  }
}

/** Closes the service. The log has the reason of a failure; the exit status only says that there was one. */
async function stop(service: Service): Promise<void> {
  await service.close().catch(() => {
    process.exitCode = 1
  })
}

/** `runServe` reports why the service did not start. */
function ignore(): void {}

/** Settings of the gateway that take effect without a restart. */
const FOLLOWED: readonly string[] = ["upstream", "upstreams", "routes", "deadlines", "tls", "accessLog"]

/** The changed settings that need a restart to take effect: `http`, `gateway.port`. */
export function needsRestart(before: Config, after: Config): string[] {
  const { gateway: gatewayBefore, ...restBefore } = before
  const { gateway: gatewayAfter, ...restAfter } = after
  return [
    ...differing(restBefore, restAfter),
    ...differing(gatewayBefore, gatewayAfter)
      .filter((name) => !FOLLOWED.includes(name))
      .map((name) => `gateway.${name}`),
  ]
}

function differing(before: object, after: object): string[] {
  const values = new Map(Object.entries(after))
  return Object.entries(before)
    .filter(([name, value]) => !isDeepStrictEqual(value, values.get(name)))
    .map(([name]) => name)
}

/** The terminal and npm both send SIGINT for one Ctrl-C, so a second signal within this time is ignored. */
const SAME_PRESS_MS = 250

interface SignalHandlers {
  /** SIGTERM, SIGINT. */
  stop(): Promise<void>
  /** SIGHUP. */
  reload(): Promise<void>
  /** SIGTERM or SIGINT again, while stopping. */
  force(signal: NodeJS.Signals): void
}

/** Handles signals until the process ends. */
function onSignals({ stop, reload, force }: SignalHandlers): void {
  let stoppingSince: number | undefined
  for (const signal of ["SIGTERM", "SIGINT"] as const) {
    process.on(signal, () => {
      if (stoppingSince === undefined) {
        stoppingSince = performance.now()
        void stop()
      } else if (performance.now() - stoppingSince > SAME_PRESS_MS) force(signal)
    })
  }
  process.on("SIGHUP", () => void reload())
}
