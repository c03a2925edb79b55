import { spawnSync } from "node:child_process"
import { fileURLToPath } from "node:url"

const root = fileURLToPath(new URL("../../", import.meta.url))

/** The path of a program that npm does not carry. Fetched from Debian's packages if it is not here; never skipped. */
export function toolPath(
  name: "nginx" | "caddy" | "chromium" | "envoy" | "redis-cli" | "redis-benchmark" | "wrk",
): string {
  const script = `scripts/ensure-${name}.mjs`
  const { status, stdout, stderr } = spawnSync(process.execPath, [script], { cwd: root, encoding: "utf8" })
  if (status !== 0) throw new Error(stderr.trim())
  return stdout.trim()
}
