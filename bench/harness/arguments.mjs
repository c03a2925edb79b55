// Parses the command line of a script, and prints its help on request and after a mistake.

import { parseArgs } from "node:util"

/**
 * Returns the options, or exits: with 0 after printing the help, with 2 after a mistake.
 * @template {NonNullable<import("node:util").ParseArgsConfig["options"]>} Options
 * @param {Options} options
 * @param {string} help  one line per option
 * @returns {ReturnType<typeof parseArgs<{ options: Options }>>["values"]}
 */
export function readArguments(options, help) {
  if (process.argv.includes("--help")) {
    process.stdout.write(help)
    process.exit(0)
  }
  try {
    return parseArgs({ options }).values
  } catch (error) {
    misused(/** @type {Error} */ (error).message, help)
  }
}

/**
 * @param {string} message
 * @param {string} help
 * @returns {never}
 */
export function misused(message, help) {
  process.stderr.write(`${message}\n\n${help}`)
  process.exit(2)
}
