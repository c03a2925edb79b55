// `npm run test:runtimes`: runs the packed library in each runtime that it claims to run in, and with --peers beside each version
// of what it has middlewares and stores for. Everything is installed from the npm registry into a temporary folder.

import { misused, readArguments } from "../../bench/harness/arguments.mjs"
import { writeFigures } from "../../bench/harness/document.mjs"
import { ensureTool } from "../../scripts/tools/ensure.mjs"
import { CheckList } from "../support/check-list.mjs"
import { freePort } from "../support/free-port.mjs"
import { inTemporaryFolder, packLibrary, withServer } from "../support/installed-project.mjs"
import { checkPeers } from "./peers.mjs"
import { checkRuntimes } from "./runtime-checks.mjs"
import { peersTable, runtimesTable } from "./tables.mjs"

const help = `Needs the npm registry, redis-server, and about 2 GB in the folder of temporary files.

Options:
  --peers       frameworks and Redis clients on this Node, instead of runtimes
  --quick       the newest version of each only
  --only TEXT   only runtimes or packages whose name contains this; may be repeated
  --json        one JSON object alone on stdout
  --write       writes the table of a full run into docs/install.md
`
const options = readArguments(
  {
    peers: { type: "boolean", default: false },
    quick: { type: "boolean", default: false },
    only: { type: "string", multiple: true, default: [] },
    json: { type: "boolean", default: false },
    write: { type: "boolean", default: false },
  },
  help,
)

if (options.write && (options.quick || options.only.length > 0)) {
  misused("--write needs a full run: docs/install.md shows all or none", help)
}

/** @param {{ name: string, isQuick?: boolean }} candidate */
const isSelected = ({ name, isQuick }) =>
  (!options.quick || isQuick === true) &&
  (options.only.length === 0 || options.only.some((text) => name.toLowerCase().includes(text.toLowerCase())))

const list = new CheckList({ isQuiet: options.json })
const versions = await inTemporaryFolder(async (folder) => {
  const tarball = packLibrary(folder)
  const port = await freePort()
  const redis = ["--port", String(port), "--save", "", "--bind", "127.0.0.1"]
  const ready = /Ready to accept connections/
  return withServer(ensureTool("redis-server"), redis, { cwd: folder, ready }, async () => {
    const suite = { folder, tarball, redisUrl: `redis://127.0.0.1:${port}`, list, isSelected }
    return options.peers ? await checkPeers(suite) : await checkRuntimes(suite)
  })
})
const name = options.peers ? "test:runtimes --peers" : "test:runtimes"
const table = options.peers ? peersTable(list.results) : runtimesTable(list.results, versions)
if (options.write) writeFigures(new URL("../../docs/install.md", import.meta.url), name, table)
if (options.json) console.log(JSON.stringify({ node: process.version, versions, results: list.results }))
else console.log(`\n${table}\n${list.closingLine()}`)
process.exitCode = list.results.every(({ ok }) => ok) ? 0 : 1
