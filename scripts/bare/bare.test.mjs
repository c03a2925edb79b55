import { spawnSync } from "node:child_process"
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { afterEach, beforeEach, describe, expect, it } from "vitest"
import { debianSources } from "./apt-sources.mjs"
import { mountsBelow, removeTree } from "./mounts.mjs"
import { readOptions } from "./options.mjs"
import { clockTime, closingCount, curlLine } from "./trials.mjs"

let folder

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "sluice-bare-test-"))
})

afterEach(() => rmSync(folder, { recursive: true, force: true }))

describe("options", () => {
  it("select both users and both commands by default", () => {
    expect(readOptions([])).toMatchObject({
      who: ["root", "user"],
      start: true,
      test: true,
      keep: false,
      paths: [],
    })
    expect(readOptions(["--only", "user", "--test-only", "test/docs"])).toMatchObject({
      who: ["user"],
      start: false,
      test: true,
      paths: ["test/docs"],
    })
  })

  it.each([
    [["--only", "nobody"], "--only must be root or user, got nobody"],
    [["--start-only", "--test-only"], "cannot be combined"],
    [["--onyl"], "--onyl"],
  ])("that are invalid are refused: %j", (words, message) => {
    expect(() => readOptions(words)).toThrow(message)
  })
})

describe("apt sources", () => {
  const put = (file, text) => {
    mkdirSync(join(folder, file, ".."), { recursive: true })
    writeFileSync(join(folder, file), text)
  }

  it("are those of the release, in both formats, without those of other vendors", () => {
    put(
      "sources.list",
      "# deb http://old.example/debian bookworm main\ndeb [signed-by=/k.gpg] http://one.example/debian bookworm main contrib # all\ndeb-src http://one.example/debian bookworm main\n",
    )
    put(
      "sources.list.d/debian.sources",
      "Types: deb\n# a comment\nURIs: http://two.example/debian\nSuites: bookworm bookworm-updates\nComponents: main\n\nTypes: deb\nURIs: http://three.example/security\nSuites: bookworm-security\nComponents: main\n\nEnabled: no\nTypes: deb\nURIs: http://off.example\nSuites: bookworm\nComponents: main\n",
    )
    put("sources.list.d/vendor.list", "deb https://vendor.example/apt cloud-bookworm main\n")
    put(
      "sources.list.d/vendor.sources",
      "Types: deb\nURIs: https://vendor.example\nSuites: nodistro\nComponents: main\n",
    )
    const sources = debianSources("bookworm", folder)
    expect(sources.map(({ uris }) => uris[0])).toEqual([
      "http://one.example/debian",
      "http://two.example/debian",
      "http://three.example/security",
    ])
    expect(sources[0].text).toBe(
      "Types: deb\nURIs: http://one.example/debian\nSuites: bookworm\nComponents: main contrib\nSigned-By: /k.gpg\n",
    )
    expect(sources[1].text).not.toContain("comment")
  })
})

describe("a folder", () => {
  const mountinfo = [
    "22 1 0:21 / /proc rw - proc proc rw",
    "23 1 0:22 / /tmp/bare\\040one/root/dev rw - tmpfs tmpfs rw",
    "24 1 0:23 / /tmp/bare\\040one-more rw - tmpfs tmpfs rw",
  ].join("\n")

  it("is searched for mounts", () => {
    expect(mountsBelow("/tmp/bare one", mountinfo)).toEqual(["/tmp/bare one/root/dev"])
    expect(mountsBelow("/tmp/bare one-more", mountinfo)).toEqual(["/tmp/bare one-more"])
    expect(mountsBelow("/tmp/bare", mountinfo)).toEqual([])
  })

  it.runIf(process.platform === "linux")("is removed, unless something is mounted in it", () => {
    expect(() => removeTree("/proc")).toThrow(/\/proc was not removed/)
    expect(existsSync("/proc/self")).toBe(true)
    mkdirSync(join(folder, "a", "b"), { recursive: true })
    removeTree(join(folder, "a"))
    expect(existsSync(join(folder, "a"))).toBe(false)
    removeTree(join(folder, "a"))
  })
})

describe("the output of the commands", () => {
  it("contains a curl command when its line is complete", () => {
    expect(curlLine("Run this:\n\n  curl -i 'http://127.0.0.1:80")).toBeUndefined()
    expect(curlLine("Run this:\n\n  curl -i 'http://127.0.0.1:8080/' -d '{}'\n")).toBe(
      "curl -i 'http://127.0.0.1:8080/' -d '{}'",
    )
  })

  it("ends with the counts", () => {
    expect(closingCount("1 passed, 0 failed\n\n11200 passed, 2 failed\n")).toEqual({
      failed: 2,
      text: "11,200 passed, 2 failed",
    })
    expect(closingCount("11200 passed, 0 failed, 3 skipped\n")?.text).toBe(
      "11,200 passed, 0 failed, 3 skipped",
    )
    expect(closingCount("npm error")).toBeUndefined()
  })

  it("shows times in minutes and seconds", () => {
    expect([clockTime(370_000), clockTime(59_600), clockTime(3_600_000)]).toEqual(["6:10", "1:00", "60:00"])
  })
})

it("lists its requirements if it cannot run", () => {
  const script = fileURLToPath(new URL("./run.mjs", import.meta.url))
  const run = (...words) =>
    // No program is on this PATH.
    spawnSync(process.execPath, [script, "--folder", folder, ...words], {
      encoding: "utf8",
      env: { ...process.env, PATH: join(folder, "nothing") },
    })
  const { status, stderr } = run()
  expect(status).toBe(2)
  if (process.platform === "linux")
    expect(stderr).toContain("it requires debootstrap: sudo apt-get install debootstrap")
  expect(run("--only", "me")).toMatchObject({
    status: 2,
    stderr: expect.stringContaining("--only must be root or user"),
  })
  expect(run("--help").stdout).toContain("Requires Linux, root")
})

it("is an npm script", () => {
  const manifest = JSON.parse(readFileSync(new URL("../../package.json", import.meta.url), "utf8"))
  expect(manifest.scripts["test:bare"]).toBe("node scripts/bare/run.mjs")
})
