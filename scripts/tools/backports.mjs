// Makes an apt source for Debian backports, for programs that this release of Debian does not have. It is a copy of the system's
// own source, with its server and key, for another suite.

import { copyFileSync, existsSync, mkdirSync, readdirSync, writeFileSync } from "node:fs"
import { extname, join } from "node:path"
import { readIfExists } from "../files.mjs"

/** @typedef {{ name: string, text: string }} SourceFile */

/**
 * A source for the backports of this release, or undefined if no source of the system is for the release itself.
 *
 * @param {readonly SourceFile[]} files @param {string} release its code name, `bookworm`
 * @returns {SourceFile | undefined}
 */
export function backportsEntry(files, release) {
  for (const { name, text } of files) {
    if (extname(name) === ".sources") {
      const suites = new RegExp(`^Suites:(?:.*\\s)?${release}(?:\\s.*)?$`, "m")
      const stanza = text.split(/\n\s*\n/).find((one) => suites.test(one) && /^Types:.*\bdeb\b/m.test(one))
      if (stanza !== undefined)
        return {
          name: "backports.sources",
          text: `${stanza.replace(suites, `Suites: ${release}-backports`)}\n`,
        }
    } else {
      const line = new RegExp(`^(deb\\s+(?:\\[[^\\]]*\\]\\s+)?\\S+\\s+)${release}(\\s.*)$`, "m").exec(text)
      if (line !== null) return { name: "backports.list", text: `${line[1]}${release}-backports${line[2]}\n` }
    }
  }
  return undefined
}

/**
 * Options of apt to use the backports alone, or together with the sources of the system.
 * @typedef {{ alone: string[], beside: string[] }} Backports
 */

/**
 * @param {string} folder where to write the sources @param {string} [etc]
 * @returns {Backports | undefined} undefined if this is not Debian
 */
export function backportsSources(folder, etc = "/etc") {
  const system = readIfExists(join(etc, "os-release")) ?? ""
  const release = /^VERSION_CODENAME=(\w+)$/m.exec(system)?.[1]
  if (release === undefined || !/^ID=debian$/m.test(system)) return undefined
  const parts = join(etc, "apt", "sources.list.d")
  const names = (existsSync(parts) ? readdirSync(parts) : []).filter((name) =>
    [".list", ".sources"].includes(extname(name)),
  )
  const files = [
    { name: "sources.list", text: readIfExists(join(etc, "apt", "sources.list")) ?? "" },
    ...names.map((name) => ({ name, text: readIfExists(join(parts, name)) ?? "" })),
  ]
  const entry = backportsEntry(files, release)
  if (entry === undefined) return undefined
  const [alone, beside] = [join(folder, "alone"), join(folder, "beside")]
  for (const place of [alone, beside]) {
    mkdirSync(place, { recursive: true })
    writeFileSync(join(place, entry.name), entry.text)
  }
  for (const name of names) copyFileSync(join(parts, name), join(beside, name))
  return {
    alone: ["-o", "Dir::Etc::SourceList=/dev/null", "-o", `Dir::Etc::SourceParts=${alone}`],
    beside: ["-o", `Dir::Etc::SourceParts=${beside}`],
  }
}
