// `npm run test:image`: does what deploy/Dockerfile says, without an engine, and starts what comes out. Takes half a minute and
// the npm registry, or a cache of it, so it is not among the tests.

import { fileURLToPath } from "node:url"
import { runnerImport } from "vite"
import { root } from "../../scripts/root.mjs"

const file = fileURLToPath(new URL("./image.ts", import.meta.url))
const { module } = await runnerImport(file, { configFile: false, root, logLevel: "error" })
const { packages, megabytes, native, notPlayed } = await module.playImage((what) =>
  console.error(`> ${what}`),
)
for (const command of notPlayed) console.error(`not run, it leaves its folder: ${command}`)
if (native.length > 0) throw new Error(`native code in the image: ${native.join(", ")}`)
console.log(
  `the image serves, is healthy and ends: ${packages} packages, ${megabytes.toFixed(1)} MB without Node`,
)
