// Runs in each process of a pool (process-pool.ts): receives a job, reports when it is ready, and waits for the start.
import { pathToFileURL } from "node:url"

const [, , script = ""] = process.argv

// The parent has ended, so no process needs the result.
process.on("disconnect", () => process.exit(1))

function next() {
  return new Promise((resolve) => process.once("message", resolve))
}

function send(message) {
  return new Promise((resolve, reject) => {
    process.send(message, (error) => (error ? reject(error) : resolve()))
  })
}

try {
  const jobSent = next()
  const { prepare, run } = await import(pathToFileURL(script).href)
  const { job } = await jobSent
  const prepared = await prepare?.(job)
  const started = next()
  await send({ ready: true })
  await started
  const result = await run(job, prepared)
  await send({ result: result ?? null })
} catch (error) {
  await send({ failed: error instanceof Error ? (error.stack ?? error.message) : String(error) })
}
