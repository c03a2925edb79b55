import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { parseRuleSet } from "sluice/rules"
import { afterAll, describe, expect, it } from "vitest"
import { readConfig } from "../../packages/server/src/config/read.js"
import { assertSafeToListen } from "../../packages/server/src/control/api/access.js"
import { parseRedisUrl } from "../../packages/sluice/src/stores/redis/url.js"
import { deployPath, deployText, deployYaml } from "./deploy-files.js"

interface ComposeService {
  readonly image: string
  readonly hostname?: string
  readonly volumes: readonly string[]
  readonly ports?: readonly string[]
  readonly environment?: Readonly<Record<string, string>>
  readonly secrets?: readonly string[]
  readonly depends_on?: Readonly<Record<string, object>>
  readonly healthcheck?: object
  readonly stop_grace_period?: string
}

interface Compose {
  readonly services: Readonly<Record<string, ComposeService>>
  readonly volumes: Readonly<Record<string, object>>
  readonly secrets: Readonly<Record<string, { readonly file: string }>>
}

const { services, volumes, secrets } = deployYaml<Compose>("compose/compose.yaml")
const folder = mkdtempSync(join(tmpdir(), "sluice-compose-"))
afterAll(() => rmSync(folder, { recursive: true }))

/** The configuration that a container would run with, read by the service's own reader. */
function configOf(name: string) {
  const tokens = join(folder, "tokens.json")
  writeFileSync(tokens, readmeTokens())
  const env = Object.fromEntries(
    Object.entries(services[name]?.environment ?? {}).map(([variable, value]) => [
      variable,
      value.replace("/run/secrets/tokens", tokens).replace("/etc/sluice", deployPath("compose")),
    ]),
  )
  return readConfig({ env, folder }).config
}

/** What the command in the README makes, for a token that is known. */
function readmeTokens(): string {
  const [, line = ""] = /^echo "(\[.*\])" > tokens\.json$/m.exec(deployText("README.md")) ?? []
  return line.replaceAll('\\"', '"').replace(/\$\(.*\)/, "ab".repeat(32))
}

describe("compose.yaml", () => {
  it("mounts files that exist, and volumes that it declares", () => {
    const mounts = Object.values(services).flatMap((service) =>
      service.volumes.map((mount) => mount.split(":")[0]),
    )
    expect(mounts.length).toBeGreaterThan(10)
    for (const mount of mounts as string[])
      expect(
        mount.startsWith("./") ? existsSync(deployPath(`compose/${mount}`)) : mount in volumes,
        mount,
      ).toBe(true)
  })

  it("waits for services that exist and have a health check", () => {
    for (const { depends_on = {} } of Object.values(services))
      for (const name of Object.keys(depends_on)) expect(services[name], name).toHaveProperty("healthcheck")
  })

  it("publishes ports on the loopback address only, and each once", () => {
    const ports = Object.values(services).flatMap(({ ports = [] }) => ports)
    for (const port of ports) expect(port).toMatch(/^127\.0\.0\.1:\d+:\d+$/)
    expect(new Set(ports.map((port) => port.split(":")[1])).size).toBe(ports.length)
  })

  it("pins its images", () => {
    for (const { image } of Object.values(services)) expect(image).toMatch(/^(redis:\d+\.\d+-alpine|sluice)$/)
  })
})

describe.each(["sluice-1", "sluice-2"])("%s", (name) => {
  it("has a valid configuration that is safe to listen with", () => {
    const { control, rules } = configOf(name)
    expect(control.tokens).toEqual([{ name: "me", role: "admin", hash: `sha256:${"ab".repeat(32)}` }])
    expect(() => assertSafeToListen(control.host, control.tokens)).not.toThrow()
    expect(secrets.tokens?.file).toBe("./tokens.json")
    expect(parseRuleSet(readFileSync(rules.file as string, "utf8")).rules).toHaveLength(2)
  })

  it("publishes the ports that its configuration listens on", () => {
    const { http, grpc, control } = configOf(name)
    const inside = services[name]?.ports?.map((port) => Number(port.split(":")[2]))
    expect(inside).toEqual([http.port, grpc.port, control.port])
  })

  it("names the Sentinels of the file, and the group that they watch", () => {
    const { addresses, name: group } = parseRedisUrl(configOf(name).store.url)
    expect(addresses.map(({ host }) => host)).toEqual(
      Object.keys(services).filter((host) => /^sentinel/.test(host)),
    )
    for (const { host, port } of addresses) {
      expect(services[host]?.hostname).toBe(host)
      expect(deployText("compose/sentinel.conf")).toContain(`port ${port}\n`)
    }
    expect(deployText("compose/sentinel.conf")).toContain(`sentinel monitor ${group} redis-1 6379 2\n`)
  })

  it("has a longer grace period than the service takes to drain", () => {
    const { delay, deadline } = configOf(name).drain
    expect(Number.parseInt(services[name]?.stop_grace_period ?? "", 10) * 1_000).toBeGreaterThan(
      delay + deadline,
    )
  })
})
