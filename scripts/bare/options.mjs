import { parseArgs } from "node:util"

export const help = `npm run test:bare -- [options] [path …]

Tests npm start and npm test on a machine with nothing but Node and npm. Makes a minimal Debian (debootstrap, minbase), copies the
working tree into it, runs npm start until the service answers the curl command that it prints, and then runs npm test. Does this
first as root and then as an ordinary user. Paths are passed to npm test.

  --only root|user   run as one of the two users only
  --start-only       run npm start only
  --test-only        run npm test only
  --fresh            make a new Debian instead of using the tarball of the last run
  --keep             do not remove the root file systems, and print their path
  --folder PATH      where to make them (default: the system's temporary folder)

Requires Linux, root (sudo npm run test:bare), the permission to mount, debootstrap, curl, git, and 4 GB of free disk space.
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

/** Throws an error with a message for users if the options are invalid. @param {readonly string[]} words @returns {BareOptions} */
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
    throw new Error(`--only must be root or user, got ${only}`)
  if (values["start-only"] && values["test-only"])
    throw new Error("--start-only and --test-only cannot be combined")
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
