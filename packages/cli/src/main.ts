import { runProgram } from "./program.js"
import { createTerminal } from "./terminal.js"

// A reader that has seen enough (`sluice … | head`) is no failure of this program.
process.stdout.on("error", (error: NodeJS.ErrnoException) => {
  if (error.code !== "EPIPE") throw error
  process.exit()
})

process.exitCode = await runProgram(process.argv.slice(2), {
  terminal: createTerminal(process, process.env),
  env: process.env,
})
