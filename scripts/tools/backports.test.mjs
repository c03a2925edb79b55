import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterEach, beforeEach, describe, expect, it } from "vitest"
import { backportsEntry, backportsSources } from "./backports.mjs"

const STANZAS = `Types: deb
URIs: http://packages.test/debian
Suites: bookworm bookworm-updates
Components: main
Signed-By: /usr/share/keyrings/debian-archive-keyring.gpg

Types: deb
URIs: http://packages.test/debian-security
Suites: bookworm-security
Components: main
`

describe("the source for backports", () => {
  it("is the deb822 stanza of the release, with another suite", () => {
    expect(backportsEntry([{ name: "debian.sources", text: STANZAS }], "bookworm")).toEqual({
      name: "backports.sources",
      text: "Types: deb\nURIs: http://packages.test/debian\nSuites: bookworm-backports\nComponents: main\nSigned-By: /usr/share/keyrings/debian-archive-keyring.gpg\n",
    })
  })

  it("is the one-line source of the release, with another suite", () => {
    const text =
      "# deb http://other.test/ bookworm main\ndeb-src http://packages.test/debian bookworm main\ndeb [signed-by=/a.gpg] http://packages.test/debian bookworm main contrib\n"
    expect(backportsEntry([{ name: "sources.list", text }], "bookworm")).toEqual({
      name: "backports.list",
      text: "deb [signed-by=/a.gpg] http://packages.test/debian bookworm-backports main contrib\n",
    })
  })

  it("is undefined if no source is for the release", () => {
    const files = [
      { name: "sources.list", text: "deb http://packages.test/debian bookworm-security main\n" },
      { name: "debian.sources", text: STANZAS.replace("bookworm ", "trixie ") },
    ]
    expect(backportsEntry(files, "bookworm")).toBeUndefined()
  })
})

describe("the options for apt", () => {
  /** @type {string} */
  let folder
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), "sluice-backports-"))
    mkdirSync(join(folder, "etc/apt/sources.list.d"), { recursive: true })
    writeFileSync(join(folder, "etc/apt/sources.list.d/debian.sources"), STANZAS)
    writeFileSync(join(folder, "etc/apt/sources.list.d/other.list"), "deb http://other.test/ any main\n")
  })
  afterEach(() => rmSync(folder, { recursive: true }))

  const isSystem = (/** @type {string} */ text) => writeFileSync(join(folder, "etc/os-release"), text)

  it("keep all sources of the system and add one", () => {
    isSystem("ID=debian\nVERSION_CODENAME=bookworm\n")
    const parts = join(folder, "parts")
    expect(backportsSources(parts, join(folder, "etc"))?.beside).toEqual([
      "-o",
      `Dir::Etc::SourceParts=${parts}/beside`,
    ])
    expect(readdirSync(join(parts, "alone"))).toEqual(["backports.sources"])
    expect(readdirSync(join(parts, "beside")).sort()).toEqual([
      "backports.sources",
      "debian.sources",
      "other.list",
    ])
    expect(readFileSync(join(parts, "beside/backports.sources"), "utf8")).toContain(
      "Suites: bookworm-backports\n",
    )
  })

  it("are undefined on another system", () => {
    isSystem("ID=ubuntu\nVERSION_CODENAME=bookworm\n")
    expect(backportsSources(join(folder, "parts"), join(folder, "etc"))).toBeUndefined()
  })
})
