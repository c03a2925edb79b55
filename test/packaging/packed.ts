import { execFileSync } from "node:child_process"
import { mkdirSync, mkdtempSync, readdirSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { build } from "../support/build.js"

export const root = fileURLToPath(new URL("../../", import.meta.url))

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
  execFileSync("npm", ["pack", "--silent", "--workspace=sluice", `--pack-destination=${folder}`], {
    cwd: root,
  })
  const tarball = join(folder, readdirSync(folder).find((name) => name.endsWith(".tgz"))!)
  const unpacked = join(folder, "node_modules", "sluice")
  mkdirSync(unpacked, { recursive: true })
  execFileSync("tar", ["-xzf", tarball, "-C", unpacked, "--strip-components=1"])
  return { folder, tarball, unpacked, remove: () => rmSync(folder, { recursive: true, force: true }) }
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
