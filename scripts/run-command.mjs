import { spawnSync } from "node:child_process"

/**
 * Runs a command until it exits and returns what it printed. Throws an error with its error output if it fails.
 *
 * @param {string} command @param {readonly string[]} args @param {string} cwd @param {NodeJS.ProcessEnv} [env]
 */
export function runCommand(command, args, cwd, env = {}) {
  const { status, stdout, stderr, error } = spawnSync(command, args, {
    cwd,
    encoding: "utf8",
    maxBuffer: 2 ** 26,
    env: { ...process.env, LC_ALL: "C", ...env },
  })
  if (!error && status === 0) return stdout
  throw new Error(`${command} ${args[0] ?? ""} failed: ${error?.message ?? stderr.trim()}`)
}
