import cluster from "node:cluster"
import { inspect } from "node:util"
import { helpText } from "./config/help.js"
import { printConfig } from "./config/print.js"
import { readConfig } from "./config/read.js"
import { announcement } from "./run/announce.js"
import { isExplained } from "./run/explained.js"
import { startService } from "./run/service.js"
import { onSignals } from "./run/signals.js"
import { VERSION } from "./run/version.js"

async function main(): Promise<void> {
  const argv = process.argv.slice(2)
  if (argv.includes("--help")) return void process.stdout.write(helpText())
  if (argv.includes("--version")) return void process.stdout.write(`${VERSION}\n`)
  const { config, flags } = readConfig({ argv, env: process.env })
  if (flags.printConfig) return void process.stdout.write(printConfig(config))
  const service = await startService(config)
  onSignals({
    stop: () => service.close(),
    async reload() {
      await service.reload()
      service.log.info({ revision: service.core.engine.revision }, "reloaded")
    },
    force: (signal) => process.exit(signal === "SIGINT" ? 130 : 143),
  })
  process.stdout.write(announcement(service, config))
}

if (cluster.isWorker) {
  const { runWorker } = await import("./run/workers/worker.js")
  runWorker()
} else {
  main().catch((error: unknown) => {
    process.stderr.write(`${isExplained(error) ? error.message : inspect(error)}\n`)
    process.exitCode = 1
  })
}
