import cluster from "node:cluster"
import { inspect } from "node:util"
import { runServe } from "./run/command.js"
import { isExplained } from "./run/explained.js"

if (cluster.isWorker) {
  const { runWorker } = await import("./run/workers/worker.js")
  runWorker()
} else {
  runServe(process.argv.slice(2)).catch((error: unknown) => {
    process.stderr.write(`${isExplained(error) ? error.message : inspect(error)}\n`)
    process.exitCode = 1
  })
}
