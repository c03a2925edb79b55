import { spawnSync } from "node:child_process"
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest"
import { libraryFolders } from "./debian.mjs"
import { ensureTools, explain } from "./ensure.mjs"

/** Tools of which an imaginary Debian has packages. */
const table = Object.fromEntries(
  ["alpha", "beta", "gamma"].map((name) => [
    name,
    {
      oldest: "7.0",
      version: /v=(\d+(?:\.\d+)+)/,
      debian: { name: `${name}-package`, program: `usr/bin/${name}` },
      byHand: { darwin: `brew install ${name}`, other: `install ${name}` },
    },
  ]),
)

let folder
let cache
let said
const options = () => ({ table, cache, say: (line) => said.push(line) })

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "sluice-tools-"))
  cache = join(folder, "cache")
  said = []
  // Nothing else is on the PATH, so neither the real apt nor a real program is found.
  vi.stubEnv("PATH", folder)
})

afterEach(() => {
  rmSync(folder, { recursive: true })
  vi.unstubAllEnvs()
})

function program(name, text) {
  writeFileSync(join(folder, name), `#!/bin/sh\nPATH=/usr/bin:/bin\n${text}\n`, { mode: 0o755 })
}

const log = () => (existsSync(join(folder, "log")) ? readFileSync(join(folder, "log"), "utf8") : "")
const calls = (word) =>
  log()
    .split("\n")
    .filter((line) => line.split(" ").includes(word))

/** apt and dpkg-deb, as far as they are used. What it knows are names of packages; each needs a library in an odd folder. */
function imaginaryDebian({ knows, needsUpdate = false, version = "7.1" }) {
  program(
    "apt-get",
    `echo "$*" >> ${folder}/log
for word in "$@"; do
  case $word in
    update) touch ${folder}/updated ;;
    *-package) case " ${knows.join(" ")} " in *" $word "*) echo "Inst $word (1.0 Debian [amd64])" ;; *) echo "E: Unable to locate package $word" >&2; exit 100 ;; esac ;;
    *-package=1.0) ${needsUpdate ? `[ -e ${folder}/updated ] || exit 100` : ":"}; echo "$word" > "$word.deb" ;;
  esac
done
for word in "$@"; do [ "$word" = install ] && echo "Inst libc6 [2.36] (2.37 Debian [amd64])"; done; exit 0`,
  )
  program(
    "dpkg-deb",
    `name=$(basename "$2" | sed 's/-package.*//')
mkdir -p "$3/usr/bin" "$3/usr/lib/odd/$name"
touch "$3/usr/lib/odd/$name/lib$name.so.1"
printf '#!/bin/sh\\n[ -e "$SLUICE_UNPACKED/usr/lib/odd/'$name'" ] && echo "$LD_LIBRARY_PATH" >&2 && echo v=${version}\\n' > "$3/usr/bin/$name"
chmod +x "$3/usr/bin/$name"`,
  )
  // The starter of an unpacked program is a shell script.
  for (const name of ["dirname", "pwd"]) program(name, `exec /usr/bin/${name} "$@"`)
}

describe("missing tools", () => {
  it("are all fetched in one step, with lines that say so and how long it took", () => {
    imaginaryDebian({ knows: ["alpha-package", "beta-package"] })
    const { paths, fetched, missing } = ensureTools(["alpha", "beta", "alpha"], options())
    expect(missing).toEqual([])
    expect(fetched).toEqual(["alpha", "beta"])
    expect(paths).toEqual({ alpha: join(cache, "bin", "alpha"), beta: join(cache, "bin", "beta") })
    expect(calls("download")).toHaveLength(1)
    expect(said).toEqual([
      "fetching alpha, beta …",
      expect.stringMatching(/^unpacking 2 Debian packages, \d+ MB …$/),
      expect.stringMatching(/^fetched in \d+\.\d s$/),
    ])
  })

  it("start with libraries from every folder that holds one", () => {
    imaginaryDebian({ knows: ["alpha-package"] })
    const { paths } = ensureTools(["alpha"], options())
    const { stdout, stderr } = spawnSync(paths.alpha, ["--version"], { encoding: "utf8" })
    expect(stdout).toBe("v=7.1\n")
    expect(stderr).toMatch(/debian-\w+\/usr\/lib\/odd\/alpha$/m)
  })

  it("come without the C library, which must fit the system's loader", () => {
    imaginaryDebian({ knows: ["alpha-package"] })
    ensureTools(["alpha"], options())
    expect(calls("download")[0]).toMatch(/download alpha-package=1\.0$/)
  })

  it("are fetched by package lists of our own when the system has none or old ones", () => {
    imaginaryDebian({ knows: ["alpha-package"], needsUpdate: true })
    expect(ensureTools(["alpha"], options()).missing).toEqual([])
    expect(calls("update")).toHaveLength(1)
    expect(calls("update")[0]).toContain("Dir::State::Lists=")
  })

  it("are fetched although another one is not to be had", () => {
    imaginaryDebian({ knows: ["alpha-package"] })
    const { paths, missing } = ensureTools(["alpha", "gamma"], options())
    expect(Object.keys(paths)).toEqual(["alpha"])
    expect(missing).toEqual([
      { name: "gamma", reason: expect.stringContaining("Unable to locate package gamma-package") },
    ])
  })

  it("are missing when what was fetched is too old", () => {
    imaginaryDebian({ knows: ["alpha-package"], version: "6.0" })
    const { missing } = ensureTools(["alpha"], options())
    expect(missing).toEqual([{ name: "alpha", reason: "is version 6.0, and 7.0 or newer is needed" }])
  })

  it("are not fetched when only installed ones are asked for", () => {
    imaginaryDebian({ knows: ["alpha-package"] })
    const { missing } = ensureTools(["alpha"], { ...options(), fetch: false })
    expect(missing).toEqual([{ name: "alpha", reason: "is not here" }])
    expect(log()).toBe("")
  })
})

describe("fetched tools", () => {
  it("are used again without fetching", () => {
    imaginaryDebian({ knows: ["alpha-package"] })
    const { paths } = ensureTools(["alpha"], options())
    rmSync(join(folder, "log"))
    expect(ensureTools(["alpha"], options())).toEqual({ paths, fetched: [], missing: [] })
    expect(log()).toBe("")
  })

  it("are fetched again when they do not work any more, and the old folder goes", () => {
    imaginaryDebian({ knows: ["alpha-package"] })
    ensureTools(["alpha"], options())
    const [before] = readdirSync(cache).filter((name) => name.startsWith("debian-"))
    rmSync(join(cache, before, "usr", "lib"), { recursive: true })
    expect(ensureTools(["alpha"], options()).fetched).toEqual(["alpha"])
    const after = readdirSync(cache).filter((name) => name !== "bin")
    expect(after).toHaveLength(1)
    expect(after).not.toEqual([before])
  })

  it("stay when others are fetched later", () => {
    imaginaryDebian({ knows: ["alpha-package", "beta-package"] })
    ensureTools(["alpha"], options())
    ensureTools(["beta"], options())
    expect(ensureTools(["alpha", "beta"], { ...options(), fetch: false }).missing).toEqual([])
  })
})

describe("a tool that cannot be had", () => {
  it("is told with one command for all that packages hold, for root without sudo", () => {
    imaginaryDebian({ knows: [] })
    const { missing } = ensureTools(["alpha", "beta"], options())
    const text = explain(missing, table)
    const getuid = vi.spyOn(process, "getuid")
    getuid.mockReturnValue(0)
    const forRoot = explain(missing, table)
    getuid.mockReturnValue(1000)
    const forUser = explain(missing, table)
    getuid.mockRestore()
    expect(text).toContain("set SLUICE_ALPHA, SLUICE_BETA to its path")
    if (process.platform === "darwin") return
    expect(forRoot).toContain(
      "\n  apt-get update && apt-get install --no-install-recommends alpha-package beta-package\n",
    )
    expect(forUser).toContain(
      "\n  sudo apt-get update && sudo apt-get install --no-install-recommends alpha-package",
    )
  })

  it("is told with the system's own way where there is no apt", () => {
    const { missing } = ensureTools(["alpha"], options())
    expect(missing).toEqual([{ name: "alpha", reason: "is not here" }])
    expect(explain(missing, table)).toMatch(/\n {2}(brew )?install alpha\n/)
    expect(said).toEqual([])
  })
})

it("finds every folder that holds a library, the usual ones first", () => {
  for (const file of [
    "usr/lib/m/pulseaudio/libpulsecommon-16.1.so",
    "usr/lib/m/libx.so.1.2",
    "usr/share/so.txt",
  ]) {
    mkdirSync(join(folder, "root", file, ".."), { recursive: true })
    writeFileSync(join(folder, "root", file), "")
  }
  expect(libraryFolders(join(folder, "root"))).toEqual(["usr/lib/m", "usr/lib/m/pulseaudio"])
})
