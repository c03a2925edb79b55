import { spawnSync } from "node:child_process"
import { fileURLToPath } from "node:url"

const root = fileURLToPath(new URL("../../", import.meta.url))

type Tool =
  | "caddy"
  | "chromium"
  | "envoy"
  | "fish"
  | "nginx"
  | "redis-benchmark"
  | "redis-cli"
  | "wrk"
  | "zsh"

const found = new Map<Tool, string>()

/** The path of a program that npm does not carry. Fetched from Debian's packages if it is not here; never skipped. */
export function toolPath(name: Tool): string {
  const known = found.get(name)
  if (known !== undefined) return known
  const script = `scripts/ensure-${name}.mjs`
  const { status, stdout, stderr } = spawnSync(process.execPath, [script], { cwd: root, encoding: "utf8" })
  if (status !== 0) throw new Error(stderr.trim())
  const path = stdout.trim()
  found.set(name, path)
  return path
}
