import { parseArgs } from "node:util"

export const help = `npm run test:bare -- [options] [path …]

Makes a minimal Debian (debootstrap, minbase) with Node and npm and nothing else, copies the working tree into it, runs npm start
until the curl line that it prints is answered, and then npm test; first as root, then as an ordinary user. Paths are handed on
to npm test.

  --only root|user   one of the two
  --start-only       only npm start
  --test-only        only npm test
  --fresh            makes the Debian anew; otherwise the last one is kept as a tarball and used again
  --keep             leaves the root file systems in place, and says where
  --folder PATH      where to make them (default: the system's temporary folder)

It needs Linux, root (sudo npm run test:bare), the right to mount, debootstrap, curl, git, and 4 GB of free disk.
`

/**
 * @typedef {object} BareOptions
 * @property {("root" | "user")[]} who
 * @property {boolean} start
 * @property {boolean} test
 * @property {boolean} fresh
 * @property {boolean} keep
 * @property {string | undefined} folder
 * @property {string[]} paths
 */

/** Throws an error for people when the words make no sense. @param {readonly string[]} words @returns {BareOptions} */
export function readOptions(words) {
  const { values, positionals } = parseArgs({
    args: [...words],
    allowPositionals: true,
    options: {
      only: { type: "string" },
      "start-only": { type: "boolean", default: false },
      "test-only": { type: "boolean", default: false },
      fresh: { type: "boolean", default: false },
      keep: { type: "boolean", default: false },
      folder: { type: "string" },
    },
  })
  const { only } = values
  if (only !== undefined && only !== "root" && only !== "user")
    throw new Error(`--only takes root or user, got ${only}`)
  if (values["start-only"] && values["test-only"])
    throw new Error("--start-only and --test-only leave nothing to do")
  return {
    who: only === undefined ? ["root", "user"] : [only],
    start: !values["test-only"],
    test: !values["start-only"],
    fresh: values.fresh,
    keep: values.keep,
    folder: values.folder,
    paths: positionals,
  }
}
