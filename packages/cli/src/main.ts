import { runProgram } from "./program.js"
import { createTerminal } from "./terminal/terminal.js"

// A reader may close the pipe early (`sluice … | head`). That is no error.
process.stdout.on("error", (error: NodeJS.ErrnoException) => {
  if (error.code !== "EPIPE") throw error
  process.exit()
})

process.exitCode = await runProgram(process.argv.slice(2), {
  terminal: createTerminal(process, process.env),
  env: process.env,
})
