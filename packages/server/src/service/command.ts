// The service as a command: reads its flags and runs until a signal stops it.

import { helpText, printConfig } from "../config/print.js"
import { readConfig } from "../config/read.js"
import type { Config } from "../config/schema.js"
import { VERSION } from "../version.js"
import { announcement } from "./announce.js"
import { commandLine } from "./command-line.js"
import { needsRestart } from "./needs-restart.js"
import { type Service, startService } from "./service.js"
import { logReloadFailure } from "./serving/serve.js"
import { ListenError } from "./serving/start-errors.js"
import { onSignals } from "./signals.js"

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
