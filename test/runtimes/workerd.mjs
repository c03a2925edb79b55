// Serves a Worker in workerd, the runtime of Cloudflare Workers.

import { writeFileSync } from "node:fs"
import { builtinModules } from "node:module"
import { join } from "node:path"
import { rolldown } from "rolldown"
import { withServer } from "../support/installed-project.mjs"

/**
 * @typedef {object} Worker
 * @property {string} source the file of the Worker
 * @property {string} date the date whose behaviour workerd shows
 * @property {readonly string[]} flags compatibility flags
 * @property {Record<string, string>} [variables]
 */

/**
 * Bundles a Worker as a deployment would, serves it, and calls `use` with its address.
 * @template T
 * @param {string} program
 * @param {string} folder the folder with the Worker and the library
 * @param {Worker} worker
 * @param {(url: string) => Promise<T>} use
 */
export async function serveWorker(program, folder, worker, use) {
  writeFileSync(join(folder, "worker.bundle.mjs"), await bundled(join(folder, worker.source)))
  writeFileSync(join(folder, "worker.capnp"), configuration(worker))
  // workerd reports the port that it has got on the file descriptor that it is told.
  const args = ["serve", "worker.capnp", "--control-fd=1"]
  return withServer(program, args, { cwd: folder, ready: /"event":"listen".*"port":(\d+)/ }, ([, port]) =>
    use(`http://127.0.0.1:${port}`),
  )
}

/** Redis clients require modules of Node without `node:`, which workerd needs, and are CommonJS. @param {string} input */
async function bundled(input) {
  const plain = builtinModules.filter((name) => !name.startsWith("_") && !name.startsWith("node:"))
  const bundle = await rolldown({
    input,
    platform: "node",
    resolve: {
      alias: Object.fromEntries(plain.map((name) => [name, `node:${name}`])),
      conditionNames: ["workerd", "import", "default"],
    },
    external: /^node:/,
  })
  const { output } = await bundle.generate({ format: "esm", codeSplitting: false })
  await bundle.close()
  return output[0].code.replaceAll("import.meta.url", '"file:///worker.mjs"')
}

/** @param {Worker} worker */
function configuration({ date, flags, variables = {} }) {
  const bindings = Object.entries(variables).map(([name, text]) => `(name = "${name}", text = "${text}")`)
  return `using Workerd = import "/workerd/workerd.capnp";
const config :Workerd.Config = (
  services = [
    (name = "main", worker = .checks),
    (name = "internet", network = (allow = ["public", "private", "local"])),
  ],
  sockets = [(name = "http", address = "127.0.0.1:0", http = (), service = "main")]
);
const checks :Workerd.Worker = (
  modules = [(name = "worker.mjs", esModule = embed "worker.bundle.mjs")],
  compatibilityDate = "${date}",
  compatibilityFlags = ${JSON.stringify(flags)},
  bindings = [${bindings.join(", ")}],
);
`
}
