// What this machine needs to reach the npm registry: settings of npm, proxies and certificates. The bare machine has them only while
// a command runs in it, in memory: they may hold secrets.

import { existsSync } from "node:fs"
import { must } from "../tools/must.mjs"

/** Where the files are inside. */
const PLACE = "/run/host"
const PROXIES = ["http_proxy", "https_proxy", "no_proxy", "all_proxy"]

/** @typedef {{ variables: Record<string, string>, files: { from: string, to: string }[] }} HostSettings */

/** @type {HostSettings | undefined} */
let known

/** @returns {HostSettings} */
export function hostSettings() {
  known ??= readHostSettings()
  return known
}

function readHostSettings() {
  /** @type {HostSettings} */
  const settings = { variables: {}, files: [] }
  const npm = JSON.parse(must("npm", ["config", "list", "--json"], "/"))
  const carry = (/** @type {string} */ variable, /** @type {unknown} */ file, /** @type {string} */ name) => {
    if (typeof file !== "string" || !existsSync(file)) return
    const to = `${PLACE}/${name}`
    settings.files.push({ from: file, to })
    settings.variables[variable] = to
  }
  carry("NPM_CONFIG_USERCONFIG", npm.userconfig, "npmrc")
  carry("NPM_CONFIG_GLOBALCONFIG", npm.globalconfig, "npmrc-global")
  carry("NPM_CONFIG_CAFILE", npm.cafile, "npm-ca.pem")
  carry("NODE_EXTRA_CA_CERTS", process.env.NODE_EXTRA_CA_CERTS, "node-ca.pem")
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
