// `npm start`: installs the dependencies and builds, if that is needed, and then runs the service in this process.

import { install, orExplain } from "./bootstrap.mjs"
import { build } from "./build.mjs"

// npm starts this script in a shell, which does not forward signals. Without a check of the parent process, the service would
// go on running after npm was stopped. The id is read first, because npm may be stopped during the install.
const shell = process.env.npm_lifecycle_event ? process.ppid : undefined

await orExplain(() => {
  install()
  if (!build("packages/server")) throw new Error("The build failed. See the messages above.")
})

// A URL, so that the type checker does not look for the file: it exists only after the build.
const server = new URL("../packages/server/dist/main.js", import.meta.url)
await import(server.href)

if (shell !== undefined) {
  setInterval(() => {
    if (process.ppid !== shell) process.kill(process.pid, "SIGTERM")
  }, 250).unref()
}
