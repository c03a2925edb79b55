// Debian's backports, for a program that this release of Debian does not have. The system's own sources say where packages come
// from and who signs them; only the suite is another.

import { copyFileSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs"
import { extname, join } from "node:path"

/** @typedef {{ name: string, text: string }} SourceFile */

/**
 * An entry for the backports of this release, or undefined where the sources name no server for the release itself.
 *
 * @param {readonly SourceFile[]} files @param {string} release its name, `bookworm`
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
 * Options that have apt know the backports: alone, or beside what the system has.
 * @typedef {{ alone: string[], beside: string[] }} Backports
 */

/**
 * @param {string} folder gets the sources @param {string} [etc]
 * @returns {Backports | undefined} nothing where this is no Debian
 */
export function backportsSources(folder, etc = "/etc") {
  const system = readIfThere(join(etc, "os-release"))
  const release = /^VERSION_CODENAME=(\w+)$/m.exec(system)?.[1]
  if (release === undefined || !/^ID=debian$/m.test(system)) return undefined
  const parts = join(etc, "apt", "sources.list.d")
  const names = listIfThere(parts).filter((name) => [".list", ".sources"].includes(extname(name)))
  const files = [
    { name: "sources.list", text: readIfThere(join(etc, "apt", "sources.list")) },
    ...names.map((name) => ({ name, text: readIfThere(join(parts, name)) })),
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

/** @param {string} path */
function readIfThere(path) {
  try {
    return readFileSync(path, "utf8")
  } catch {
    return ""
  }
}

/** @param {string} folder */
function listIfThere(folder) {
  try {
    return readdirSync(folder)
  } catch {
    return []
  }
}
