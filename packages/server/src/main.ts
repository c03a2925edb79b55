import { inspect } from "node:util"
import { createLimiter } from "sluice"
import { createApp } from "./app.js"
import { readConfig } from "./config.js"
import { explainListenError, startService } from "./service.js"

async function main(): Promise<void> {
  const config = readConfig(process.env)
  // Small enough that the sixth curl in a row is denied. The log is exact: an estimate could let it pass at a boundary.
  const limiter = createLimiter({
    limits: [
      { name: "burst", limit: 5, window: "10s", algorithm: "sliding-window-log" },
      { name: "hourly", limit: 100, window: "1h" },
    ],
  })
  const app = createApp({ limiter, onError: (error) => process.stderr.write(`${inspect(error)}\n`) })
  const service = await startService({ ...config, app }).catch((error: unknown) => {
    throw new Error(explainListenError(error, config))
  })
  process.stdout.write(`Sluice listens on ${service.url}
Each key may pass 5 times in 10 seconds and 100 times in an hour. Run this six times:

  curl -i ${service.url}/v1/check -d '{"key":"user:42"}'

`)

  let stopping = false
  const stop = async () => {
    // npm sends on a Ctrl-C that the terminal has already sent us: the second one must not cut the first one short.
    if (stopping) return
    stopping = true
    await service.close()
    await limiter.close()
  }
  process.on("SIGTERM", stop)
  process.on("SIGINT", stop)
}

main().catch((error: unknown) => {
  process.stderr.write(`${error instanceof Error ? error.message : inspect(error)}\n`)
  process.exitCode = 1
})
