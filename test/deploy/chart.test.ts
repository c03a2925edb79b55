import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { parseRuleSet } from "sluice/rules"
import { afterAll, describe, expect, it } from "vitest"
import { readConfig } from "../../packages/server/src/config/read.js"
import { assertSafeToListen } from "../../packages/server/src/control/api/access.js"
import { type Manifest, podOf, renderChart, type Values } from "./chart.js"

const folder = mkdtempSync(join(tmpdir(), "sluice-chart-"))
afterAll(() => rmSync(folder, { recursive: true }))

const HASH = `sha256:${"ab".repeat(32)}`
const SECRETS: Readonly<Record<string, string>> = {
  storeUrl: "redis+sentinel://:open%20sesame@s1,s2,s3/main\n",
  tokens: `[{"name":"ann","role":"admin","hash":"${HASH}"}]\n`,
  respPassword: "open sesame\n",
  hashing: "a secret of the fleet\n",
}

const everything: Values = {
  replicas: 3,
  config: { resp: { enabled: true }, rules: { redis: { enabled: true } } },
  secrets: {
    storeUrl: { name: "redis" },
    tokens: { name: "tokens" },
    respPassword: { name: "resp" },
    hashing: { name: "hashing" },
  },
  serviceMonitor: { enabled: true, labels: { release: "prometheus" }, token: { name: "reader" } },
  podLabels: { team: "edge" },
  podAnnotations: { note: "yes" },
  service: { annotations: { note: "yes" } },
  image: { tag: "1.2.3", pullSecrets: [{ name: "registry" }] },
  env: [{ name: "SLUICE_LOG__LEVEL", value: "warn" }],
  nodeSelector: { disk: "fast" },
  tolerations: [{ operator: "Exists" }],
  affinity: { nodeAffinity: {} },
  topologySpreadConstraints: [{ maxSkew: 1 }],
}

/** The configuration that the container would run with: its mounted files and its variables, read by the service's own reader. */
function configOf(manifests: ReadonlyMap<string, Manifest>) {
  const [container] = podOf(manifests).containers
  const mounted = (path: string) =>
    path.replace("/etc/sluice", join(folder, "etc")).replace("/run/secrets/sluice", join(folder, "secrets"))
  for (const room of ["etc", "secrets"]) mkdirSync(join(folder, room), { recursive: true })
  for (const [name, text] of Object.entries(manifests.get("ConfigMap")?.data ?? {}))
    writeFileSync(join(folder, "etc", name), text)
  for (const [name, text] of Object.entries(SECRETS)) writeFileSync(join(folder, "secrets", name), text)
  const env = Object.fromEntries(container.env.map(({ name, value }) => [name, mounted(value)]))
  return readConfig({ env, folder }).config
}

describe("with its default values", () => {
  const manifests = renderChart()

  it("makes a Deployment, a Service, a ConfigMap and a PodDisruptionBudget", () => {
    expect([...manifests.keys()].sort()).toEqual([
      "ConfigMap",
      "Deployment",
      "PodDisruptionBudget",
      "Service",
    ])
  })

  it("gives the service a valid configuration that is safe to listen with", () => {
    const config = configOf(manifests)
    expect(config).toMatchObject({
      http: { host: "0.0.0.0", port: 8080 },
      grpc: { host: "0.0.0.0", port: 8081 },
      control: { host: "127.0.0.1" },
      store: { url: "memory" },
      rules: { file: "/etc/sluice/rules.yaml" },
    })
    expect(() => assertSafeToListen(config.control.host, config.control.tokens)).not.toThrow()
  })

  it("gives the service valid rules", () => {
    const { rules } = parseRuleSet(manifests.get("ConfigMap")?.data?.["rules.yaml"] ?? "")
    expect(rules.map(({ id }) => id)).toEqual(["login", "api"])
  })

  it("waits longer for a pod to end than the service takes to drain", () => {
    const { delay, deadline } = configOf(manifests).drain
    expect(podOf(manifests).terminationGracePeriodSeconds * 1_000).toBeGreaterThan(delay + deadline)
  })

  it("runs as an unprivileged user, on a read-only file system", () => {
    const { securityContext, enableServiceLinks, containers } = podOf(manifests)
    expect(enableServiceLinks).toBe(false)
    expect(securityContext).toMatchObject({ runAsNonRoot: true, runAsUser: 1000 })
    expect(containers[0].securityContext).toEqual({
      allowPrivilegeEscalation: false,
      readOnlyRootFilesystem: true,
      capabilities: { drop: ["ALL"] },
    })
  })

  it("probes liveness and readiness on the HTTP port", () => {
    const { livenessProbe, readinessProbe, ports } = podOf(manifests).containers[0]
    expect(livenessProbe.httpGet).toEqual({ path: "/livez", port: "http" })
    expect(readinessProbe.httpGet).toEqual({ path: "/readyz", port: "http" })
    expect(ports).toContainEqual({ name: "http", containerPort: 8080 })
  })
})

describe("with everything on", () => {
  const manifests = renderChart(everything, "edge")

  it("passes every secret as a file, by a variable that the service knows", () => {
    expect(configOf(manifests)).toMatchObject({
      store: { url: SECRETS.storeUrl?.trim() },
      control: { host: "0.0.0.0", tokens: [{ name: "ann", role: "admin", hash: HASH }] },
      resp: { enabled: true, password: "open sesame" },
      secret: "a secret of the fleet",
      log: { level: "warn" },
      rules: { redis: { enabled: true } },
    })
  })

  it("mounts each secret where its variable says", () => {
    const { containers, volumes } = podOf(manifests)
    const sources = volumes.find(({ name }) => name === "secrets")?.projected?.sources
    expect(sources?.map(({ secret }) => secret)).toEqual([
      { name: "hashing", items: [{ key: "secret", path: "hashing" }] },
      { name: "resp", items: [{ key: "password", path: "respPassword" }] },
      { name: "redis", items: [{ key: "url", path: "storeUrl" }] },
      { name: "tokens", items: [{ key: "tokens.json", path: "tokens" }] },
    ])
    expect(containers[0].volumeMounts).toContainEqual(
      expect.objectContaining({ name: "secrets", mountPath: "/run/secrets/sluice" }),
    )
  })

  it("has a port of the Service for every port that the service listens on", () => {
    const service = manifests.get("Service") as Manifest
    const { ports } = service.spec as { ports: { name: string; port: number }[] }
    const { http, grpc, resp, control } = configOf(manifests)
    expect(ports.map(({ name, port }) => [name, port])).toEqual([
      ["http", http.port],
      ["grpc", grpc.port],
      ["resp", resp.port],
      ["control", control.port],
    ])
    expect(podOf(manifests).containers[0].ports.map(({ name }) => name)).toEqual(
      ports.map(({ name }) => name),
    )
  })

  it("names everything after the release, and lets every selector find it", () => {
    const selector = { "app.kubernetes.io/name": "sluice", "app.kubernetes.io/instance": "edge" }
    for (const { kind, metadata, spec } of manifests.values()) {
      expect(metadata.name, kind).toBe("edge-sluice")
      expect(metadata.labels, kind).toMatchObject(selector)
      const { selector: found } = (spec ?? {}) as { selector?: { matchLabels?: object } }
      if (found !== undefined) expect(found.matchLabels ?? found, kind).toEqual(selector)
    }
  })

  it("lets Prometheus read metrics with a token", () => {
    expect(manifests.get("ServiceMonitor")?.spec).toMatchObject({
      endpoints: [
        {
          port: "control",
          path: "/metrics",
          authorization: { credentials: { name: "reader", key: "token" } },
        },
      ],
    })
  })
})

it("leaves the number of pods to the autoscaler if there is one", () => {
  const manifests = renderChart({ autoscaling: { enabled: true }, secrets: { storeUrl: { name: "redis" } } })
  expect(manifests.get("HorizontalPodAutoscaler")?.spec).toMatchObject({ minReplicas: 2, maxReplicas: 10 })
  expect(manifests.get("Deployment")?.spec).not.toHaveProperty("replicas")
})

describe("refuses", () => {
  it.each([
    ["several replicas", { replicas: 2 }],
    ["an autoscaler", { autoscaling: { enabled: true } }],
  ])("%s on the memory store", (_, values) => {
    expect(() => renderChart(values)).toThrow("several replicas require Redis")
    expect(() => renderChart({ ...values, config: { store: { url: "redis://redis" } } })).not.toThrow()
  })

  it("a ServiceMonitor without tokens", () => {
    expect(() => renderChart({ serviceMonitor: { enabled: true } })).toThrow(
      "serviceMonitor requires secrets.tokens",
    )
  })
})
