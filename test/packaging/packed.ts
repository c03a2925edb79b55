import { execFileSync } from "node:child_process"
import { mkdirSync, mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { build } from "../support/build.js"
import { root, tarballOf } from "./tarballs.js"

export { root } from "./tarballs.js"

/** The package as npm would publish it: built, packed, and unpacked where a project in `folder` finds it. */
export interface Packed {
  readonly folder: string
  readonly tarball: string
  readonly unpacked: string
  remove(): void
}

export function packSluice(): Packed {
  build("packages/sluice")
  const folder = mkdtempSync(join(tmpdir(), "sluice-packed-"))
  const tarball = tarballOf("sluice")
  const unpacked = unpack("sluice", folder)
  return { folder, tarball, unpacked, remove: () => rmSync(folder, { recursive: true, force: true }) }
}

/** Unpacks one of the packages where a project in `folder` finds it, and returns its folder. */
export function unpack(name: string, folder: string): string {
  const unpacked = join(folder, "node_modules", name)
  mkdirSync(unpacked, { recursive: true })
  execFileSync("tar", ["-xzf", tarballOf(name), "-C", unpacked, "--strip-components=1"])
  return unpacked
}

/** Runs an installed tool; when it fails, the error carries what it printed. */
export function runTool(script: string, args: readonly string[], cwd: string): void {
  try {
    execFileSync(process.execPath, [join(root, "node_modules", script), ...args], {
      cwd,
      encoding: "utf8",
      stdio: "pipe",
    })
  } catch (error) {
    const { stdout, stderr } = error as { stdout: string; stderr: string }
    throw new Error(`${script} ${args.join(" ")}\n${stdout}${stderr}`)
  }
}
