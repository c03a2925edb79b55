// The process of the targets. It starts them, and answers questions of its parent.

import { fileURLToPath } from "node:url"
import { runnerImport } from "vite"
import { root } from "../../scripts/root.mjs"

const file = fileURLToPath(new URL("./targets.ts", import.meta.url))
const { module } = await runnerImport(file, { configFile: false, root, logLevel: "error" })
const running = new module.Running()

process.on("message", async ({ id, ask, value }) => {
  if (ask === "start") process.send?.({ id, answer: await running.start(value) })
  else if (ask === "take") process.send?.({ id, answer: running.take(value) })
  else process.send?.({ id, answer: running.health() })
})
process.on("disconnect", () => process.exit())
