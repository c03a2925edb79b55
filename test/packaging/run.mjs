// `npm run test:packages`: loads the packed library with the tools that applications are tested and built with, each installed
// from the npm registry into a temporary folder.

import { join } from "node:path"
import { readArguments } from "../../bench/harness/arguments.mjs"
import { CheckList } from "../support/check-list.mjs"
import {
  installPackages,
  inTemporaryFolder,
  packLibrary,
  runProgram,
  writeProjectFiles,
} from "../support/installed-project.mjs"
import { cases } from "./matrix/cases.mjs"

const help = `Needs the npm registry, and about 2 GB in the folder of temporary files.

Options:
  --quick       the newest version of each tool only
  --case TEXT   only tools whose name contains this; may be repeated
  --json        one JSON object alone on stdout
`
const options = readArguments(
  {
    quick: { type: "boolean", default: false },
    case: { type: "string", multiple: true, default: [] },
    json: { type: "boolean", default: false },
  },
  help,
)

const selected = cases.filter(
  ({ group, name, isQuick }) =>
    (!options.quick || isQuick === true) &&
    (options.case.length === 0 || options.case.some((text) => `${group}: ${name}`.includes(text))),
)

const list = new CheckList({ isQuiet: options.json })
await inTemporaryFolder(async (folder) => {
  const tarball = packLibrary(folder)
  for (const [i, { group, name, packages, files, run }] of selected.entries()) {
    const project = join(folder, `project-${i}`)
    await list.run(group, name, async () => {
      writeProjectFiles(project, { "package.json": { private: true }, ...files })
      installPackages(project, [tarball, ...packages])
      await run({
        folder: project,
        run: (script, ...args) =>
          runProgram(join(project, "node_modules", ".bin", script), args, { cwd: project }),
        node: (...args) => runProgram(process.execPath, args, { cwd: project }),
      })
    })
  }
})
if (options.json) console.log(JSON.stringify({ node: process.version, results: list.results }))
else console.log(`\n${list.closingLine()}`)
process.exitCode = list.results.every(({ ok }) => ok) ? 0 : 1
