import { parse } from "yaml"
import { deployText, deployYaml, filesIn } from "./deploy-files.js"
import { Templates } from "./go-template.js"

const CHART = "helm/sluice"

export interface Values {
  readonly [name: string]: unknown
}

export interface Manifest {
  readonly kind: string
  readonly metadata: { readonly name: string; readonly labels: Readonly<Record<string, string>> }
  readonly data?: Readonly<Record<string, string>>
  readonly spec?: unknown
}

export interface Container {
  readonly image: string
  readonly env: readonly { readonly name: string; readonly value: string }[]
  readonly ports: readonly { readonly name: string; readonly containerPort: number }[]
  readonly livenessProbe: Probe
  readonly readinessProbe: Probe
  readonly securityContext: object
  readonly volumeMounts: readonly { readonly name: string; readonly mountPath: string }[]
}

export interface Probe {
  readonly httpGet: { readonly path: string; readonly port: string }
}

export interface Pod {
  readonly terminationGracePeriodSeconds: number
  readonly enableServiceLinks: boolean
  readonly securityContext: object
  readonly containers: readonly [Container]
  readonly volumes: readonly {
    readonly name: string
    readonly projected?: {
      readonly sources: readonly {
        readonly secret: { readonly name: string; readonly items: readonly object[] }
      }[]
    }
  }[]
}

export function defaultValues(): Values {
  return deployYaml(`${CHART}/values.yaml`)
}

/** What `helm template <release>` prints with these values over those of the chart, by kind. */
export function renderChart(over: Values = {}, release = "sluice"): Map<string, Manifest> {
  const { name, version, appVersion } = deployYaml<Record<string, string>>(`${CHART}/Chart.yaml`)
  const root = {
    Values: merged(defaultValues(), over),
    Release: { Name: release, Namespace: "default", Service: "Helm" },
    Chart: { Name: name, Version: version, AppVersion: appVersion },
  }
  const templates = new Templates()
  const files = filesIn(`${CHART}/templates`).map((file) => ({
    file,
    nodes: templates.add(deployText(file)),
  }))
  const manifests = new Map<string, Manifest>()
  for (const { file, nodes } of files) {
    const text = templates.render(nodes, root)
    if (!file.endsWith(".yaml") || text.trim() === "") continue
    const manifest: Manifest = parse(text)
    manifests.set(manifest.kind, manifest)
  }
  return manifests
}

/** The pods of its Deployment. */
export function podOf(manifests: ReadonlyMap<string, Manifest>): Pod {
  const deployment = manifests.get("Deployment") as Manifest
  return (deployment.spec as { template: { spec: Pod } }).template.spec
}

function merged(base: Values, over: Values): Values {
  const result: Record<string, unknown> = { ...base }
  for (const [name, value] of Object.entries(over))
    result[name] = isMap(result[name]) && isMap(value) ? merged(result[name], value) : value
  return result
}

function isMap(value: unknown): value is Values {
  return typeof value === "object" && value !== null && !Array.isArray(value)
}
