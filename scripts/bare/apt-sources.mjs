// Reads the apt sources of this machine, for the bare machine to use the same.

import { existsSync, readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { runCommand } from "../run-command.mjs"

/** @typedef {{ uris: string[], suites: string[], text: string }} Source  one source, as text in the deb822 format */

/**
 * The sources for one Debian release, without those of other vendors.
 * @param {string} codename @param {string} [folder]
 */
export function debianSources(codename, folder = "/etc/apt") {
  const more = join(folder, "sources.list.d")
  const files = [
    join(folder, "sources.list"),
    ...(existsSync(more)
      ? readdirSync(more)
          .sort()
          .map((name) => join(more, name))
      : []),
  ]
  return files
    .filter((file) => existsSync(file))
    .flatMap((file) => {
      const text = readFileSync(file, "utf8")
      if (file.endsWith(".sources")) return readDeb822(text)
      return file.endsWith(".list") ? readOneLine(text) : []
    })
    .filter(({ suites }) => suites.some((suite) => suite.split(/[-/]/)[0] === codename))
}

/** @param {string} text @returns {Source[]} */
function readDeb822(text) {
  const lines = text.split("\n").filter((line) => !line.startsWith("#"))
  return lines
    .join("\n")
    .split(/\n\s*\n/)
    .flatMap((stanza) => {
      const field = (/** @type {string} */ name) =>
        new RegExp(`^${name}:\\s*(.*)$`, "im").exec(stanza)?.[1]?.trim().split(/\s+/) ?? []
      const isUsed = field("Types").includes("deb") && field("Enabled")[0] !== "no"
      return isUsed ? [{ uris: field("URIs"), suites: field("Suites"), text: `${stanza.trim()}\n` }] : []
    })
}

/** @param {string} text @returns {Source[]} */
function readOneLine(text) {
  return [...text.matchAll(/^deb\s+(?:\[([^\]]*)\]\s+)?(\S+)\s+(\S+)\s*(.*)$/gm)].map(
    ([, options = "", uri = "", suite = "", components = ""]) => {
      const signedBy = /signed-by=(\S+)/.exec(options)?.[1]
      const lines = [
        "Types: deb",
        `URIs: ${uri}`,
        `Suites: ${suite}`,
        `Components: ${components.replace(/#.*/, "").trim()}`,
      ]
      if (signedBy !== undefined) lines.push(`Signed-By: ${signedBy}`)
      return { uris: [uri], suites: [suite], text: `${lines.join("\n")}\n` }
    },
  )
}

/** The proxy settings of apt on this machine, as lines of apt.conf. */
export function aptProxies() {
  return runCommand("apt-config", ["dump"], "/")
    .split("\n")
    .filter((line) => /^Acquire::(http|https|ftp)::Proxy/i.test(line) && !line.endsWith(' "";'))
    .map((line) => `${line}\n`)
    .join("")
}
