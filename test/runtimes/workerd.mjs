// Serves worker.mjs in workerd, the runtime of Cloudflare Workers.

import { writeFileSync } from "node:fs"
import { join } from "node:path"
import { rolldown } from "rolldown"
import { withServer } from "../support/installed-project.mjs"

/** Since this date, nodejs_compat includes node:fs. */
const COMPATIBILITY_DATE = "2025-09-15"

/**
 * Bundles the Worker as a deployment would, serves it, and calls `use` with its address.
 * @template T
 * @param {string} program
 * @param {string} folder the folder with worker.mjs and the library
 * @param {readonly string[]} flags compatibility flags
 * @param {(url: string) => Promise<T>} use
 */
export async function serveWorker(program, folder, flags, use) {
  const bundle = await rolldown({
    input: join(folder, "worker.mjs"),
    platform: "neutral",
    external: /^node:/,
  })
  const { output } = await bundle.generate({ format: "esm", codeSplitting: false })
  await bundle.close()
  writeFileSync(join(folder, "worker.bundle.mjs"), output[0].code)
  writeFileSync(join(folder, "worker.capnp"), configuration(flags))
  // workerd reports the port that it has got on the file descriptor that it is told.
  const args = ["serve", "worker.capnp", "--control-fd=1"]
  return withServer(program, args, { cwd: folder, ready: /"event":"listen".*"port":(\d+)/ }, ([, port]) =>
    use(`http://127.0.0.1:${port}`),
  )
}

/** @param {readonly string[]} flags */
function configuration(flags) {
  return `using Workerd = import "/workerd/workerd.capnp";
const config :Workerd.Config = (
  services = [(name = "main", worker = .checks)],
  sockets = [(name = "http", address = "127.0.0.1:0", http = (), service = "main")]
);
const checks :Workerd.Worker = (
  modules = [(name = "worker.mjs", esModule = embed "worker.bundle.mjs")],
  compatibilityDate = "${COMPATIBILITY_DATE}",
  compatibilityFlags = ${JSON.stringify(flags)},
);
`
}
