// `npm start`: installs and builds what is missing, then becomes the server.

import { install, orExplain } from "./bootstrap.mjs"
import { build } from "./build.mjs"

// npm runs this in a shell that ends on a signal without passing it on: stopping npm would leave the server behind. Taken
// before the install, during which it may be stopped already.
const shell = process.env.npm_lifecycle_event ? process.ppid : undefined

await orExplain(() => {
  install()
  if (!build("packages/server")) throw new Error("The build failed: the compiler's messages are above.")
})

// A path the type checker does not follow: the file is there only after the build.
const server = new URL("../packages/server/dist/main.js", import.meta.url)
await import(server.href)

if (shell !== undefined) {
  setInterval(() => {
    if (process.ppid !== shell) process.kill(process.pid, "SIGTERM")
  }, 250).unref()
}
