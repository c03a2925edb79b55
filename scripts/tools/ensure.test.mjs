import { spawnSync } from "node:child_process"
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest"
import { libraryFolders } from "./debian.mjs"
import { ensureTools, explain } from "./ensure.mjs"

/** Tools that exist only in the fake Debian of these tests. */
const table = Object.fromEntries(
  ["alpha", "beta", "gamma"].map((name) => [
    name,
    {
      minVersion: "7.0",
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
  // Only this folder is on the PATH, so that the tests find neither the real apt nor real programs.
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

/** Fakes apt-get and dpkg-deb. `knows` are names of packages. Each package contains a library in an unusual folder. */
function fakeDebian({ knows, needsUpdate = false, version = "7.1" }) {
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
  // The script that starts an unpacked program calls these.
  for (const name of ["dirname", "pwd"]) program(name, `exec /usr/bin/${name} "$@"`)
}

describe("missing tools", () => {
  it("are downloaded in one step, with messages about the progress", () => {
    fakeDebian({ knows: ["alpha-package", "beta-package"] })
    const { paths, fetched, missing } = ensureTools(["alpha", "beta", "alpha"], options())
    expect(missing).toEqual([])
    expect(fetched).toEqual(["alpha", "beta"])
    expect(paths).toEqual({ alpha: join(cache, "bin", "alpha"), beta: join(cache, "bin", "beta") })
    expect(calls("download")).toHaveLength(1)
    expect(said).toEqual([
      "downloading alpha, beta …",
      expect.stringMatching(/^unpacking 2 Debian packages, \d+ MB …$/),
      expect.stringMatching(/^downloaded in \d+\.\d s$/),
    ])
  })

  it("start with libraries from all folders that contain one", () => {
    fakeDebian({ knows: ["alpha-package"] })
    const { paths } = ensureTools(["alpha"], options())
    const { stdout, stderr } = spawnSync(paths.alpha, ["--version"], { encoding: "utf8" })
    expect(stdout).toBe("v=7.1\n")
    expect(stderr).toMatch(/debian-\w+\/usr\/lib\/odd\/alpha$/m)
  })

  it("are downloaded without the C library, which must fit the loader of the system", () => {
    fakeDebian({ knows: ["alpha-package"] })
    ensureTools(["alpha"], options())
    expect(calls("download")[0]).toMatch(/download alpha-package=1\.0$/)
  })

  it("are downloaded with new package lists if those of the system are missing or old", () => {
    fakeDebian({ knows: ["alpha-package"], needsUpdate: true })
    expect(ensureTools(["alpha"], options()).missing).toEqual([])
    expect(calls("update")).toHaveLength(1)
    expect(calls("update")[0]).toContain("Dir::State::Lists=")
  })

  it("are downloaded even if another one is not available", () => {
    fakeDebian({ knows: ["alpha-package"] })
    const { paths, missing } = ensureTools(["alpha", "gamma"], options())
    expect(Object.keys(paths)).toEqual(["alpha"])
    expect(missing).toEqual([
      { name: "gamma", reason: expect.stringContaining("Unable to locate package gamma-package") },
    ])
  })

  it("are missing if the downloaded version is too old", () => {
    fakeDebian({ knows: ["alpha-package"], version: "6.0" })
    const { missing } = ensureTools(["alpha"], options())
    expect(missing).toEqual([{ name: "alpha", reason: "is version 6.0, but 7.0 or newer is required" }])
  })

  it("are not downloaded with fetch: false", () => {
    fakeDebian({ knows: ["alpha-package"] })
    const { missing } = ensureTools(["alpha"], { ...options(), fetch: false })
    expect(missing).toEqual([{ name: "alpha", reason: "is not installed" }])
    expect(log()).toBe("")
  })
})

describe("downloaded tools", () => {
  it("are used again without another download", () => {
    fakeDebian({ knows: ["alpha-package"] })
    const { paths } = ensureTools(["alpha"], options())
    rmSync(join(folder, "log"))
    expect(ensureTools(["alpha"], options())).toEqual({ paths, fetched: [], missing: [] })
    expect(log()).toBe("")
  })

  it("are downloaded again if they stop working, and the old folder is removed", () => {
    fakeDebian({ knows: ["alpha-package"] })
    ensureTools(["alpha"], options())
    const [before] = readdirSync(cache).filter((name) => name.startsWith("debian-"))
    rmSync(join(cache, before, "usr", "lib"), { recursive: true })
    expect(ensureTools(["alpha"], options()).fetched).toEqual(["alpha"])
    const after = readdirSync(cache).filter((name) => name !== "bin")
    expect(after).toHaveLength(1)
    expect(after).not.toEqual([before])
  })

  it("stay when others are downloaded later", () => {
    fakeDebian({ knows: ["alpha-package", "beta-package"] })
    ensureTools(["alpha"], options())
    ensureTools(["beta"], options())
    expect(ensureTools(["alpha", "beta"], { ...options(), fetch: false }).missing).toEqual([])
  })
})

describe("the message about missing tools", () => {
  it("contains one apt-get command for all Debian packages, without sudo for root", () => {
    fakeDebian({ knows: [] })
    const { missing } = ensureTools(["alpha", "beta"], options())
    const text = explain(missing, table)
    const getuid = vi.spyOn(process, "getuid")
    getuid.mockReturnValue(0)
    const forRoot = explain(missing, table)
    getuid.mockReturnValue(1000)
    const forUser = explain(missing, table)
    getuid.mockRestore()
    expect(text).toContain("set SLUICE_ALPHA, SLUICE_BETA to the path")
    if (process.platform === "darwin") return
    expect(forRoot).toContain(
      "\n  apt-get update && apt-get install --no-install-recommends alpha-package beta-package\n",
    )
    expect(forUser).toContain(
      "\n  sudo apt-get update && sudo apt-get install --no-install-recommends alpha-package",
    )
  })

  it("contains the command of another system if there is no apt", () => {
    const { missing } = ensureTools(["alpha"], options())
    expect(missing).toEqual([{ name: "alpha", reason: "is not installed" }])
    expect(explain(missing, table)).toMatch(/\n {2}(brew )?install alpha\n/)
    expect(said).toEqual([])
  })
})

it("finds all folders with libraries, the shortest paths first", () => {
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
