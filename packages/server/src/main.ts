import cluster from "node:cluster"
import { relative } from "node:path"
import { inspect } from "node:util"
import { runServe } from "./service/command.js"
import { isUserError } from "./service/serving/start-errors.js"

if (cluster.isWorker) {
  const { runWorker } = await import("./service/workers/worker.js")
  runWorker()
} else {
  const program =
    process.env.npm_lifecycle_event === undefined
      ? `node ${relative("", process.argv[1] ?? "")}`
      : "npm start"
  runServe(process.argv.slice(2), program).catch((error: unknown) => {
    process.stderr.write(`${isUserError(error) ? error.message : inspect(error)}\n`)
    process.exitCode = 1
  })
}
