// The service as a command: flags in, a service that runs until a signal ends it.

import { helpText } from "../config/help.js"
import { printConfig } from "../config/print.js"
import { readConfig } from "../config/read.js"
import type { Config } from "../config/schema.js"
import { announcement } from "./announce.js"
import { commandLine } from "./command-line.js"
import { ListenError } from "./listen-error.js"
import { needsRestart } from "./needs-restart.js"
import { logNotReloaded } from "./not-reloaded.js"
import { type Service, startService } from "./service.js"
import { onSignals } from "./signals.js"
import { VERSION } from "./version.js"

/**
 * Resolves once the service listens, or has printed what was asked for. Rejects when it cannot start. `program` is what was
 * typed in front of the arguments, for advice that can be typed too.
 */
export async function runServe(argv: readonly string[], program = "npm start"): Promise<void> {
  if (argv.includes("--help")) return void process.stdout.write(helpText())
  if (argv.includes("--version")) return void process.stdout.write(`${VERSION}\n`)
  const { config, flags } = readConfig({ argv, env: process.env })
  if (flags.printConfig) return void process.stdout.write(printConfig(config))
  // At a terminal the announcement says it, in words for people.
  const logsReady = !(process.stdout.isTTY && process.stderr.isTTY)
  const starting = startService(config, { logsReady })
  // From the first moment on: a signal that comes before the service is there waits for it, and a second one does not.
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

/** Rules that were changed are in force even if the configuration has a mistake. */
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
    logNotReloaded(log, error)
  }
}

/** What went wrong is in the log by then; the status says that something did. */
async function stop(service: Service): Promise<void> {
  await service.close().catch(() => {
    process.exitCode = 1
  })
}

/** Why the service did not start is told by whoever waits for it. */
function ignore(): void {}
