// Reads the settings that this machine uses to reach the npm registry: npm configuration, proxies, certificates. They may contain
// secrets, so the bare machine has them only in memory and only while a command runs.

import { existsSync } from "node:fs"
import { runCommand } from "../run-command.mjs"

/** The folder of the files in the bare machine. */
const FOLDER = "/run/host"
const PROXIES = ["http_proxy", "https_proxy", "no_proxy", "all_proxy"]

/** @typedef {{ variables: Record<string, string>, files: { from: string, to: string }[] }} HostSettings */

/** @type {HostSettings | undefined} */
let cached

/** @returns {HostSettings} */
export function hostSettings() {
  cached ??= readHostSettings()
  return cached
}

function readHostSettings() {
  /** @type {HostSettings} */
  const settings = { variables: {}, files: [] }
  const npm = JSON.parse(runCommand("npm", ["config", "list", "--json"], "/"))
  const addFile = (
    /** @type {string} */ variable,
    /** @type {unknown} */ file,
    /** @type {string} */ name,
  ) => {
    if (typeof file !== "string" || !existsSync(file)) return
    const to = `${FOLDER}/${name}`
    settings.files.push({ from: file, to })
    settings.variables[variable] = to
  }
  addFile("NPM_CONFIG_USERCONFIG", npm.userconfig, "npmrc")
  addFile("NPM_CONFIG_GLOBALCONFIG", npm.globalconfig, "npmrc-global")
  addFile("NPM_CONFIG_CAFILE", npm.cafile, "npm-ca.pem")
  addFile("NODE_EXTRA_CA_CERTS", process.env.NODE_EXTRA_CA_CERTS, "node-ca.pem")
  for (const key of ["registry", "proxy", "https-proxy", "noproxy"]) {
    const value = npm[key]
    if (typeof value === "string" && value !== "")
      settings.variables[`NPM_CONFIG_${key.toUpperCase().replaceAll("-", "_")}`] = value
  }
  for (const name of [...PROXIES, ...PROXIES.map((proxy) => proxy.toUpperCase())]) {
    const value = process.env[name]
    if (value) settings.variables[name] = value
  }
  return settings
}
