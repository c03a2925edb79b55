// Checks of the service: whether it is ready, or else whether its ports are free.

import { createServer } from "node:net"
import type { Config } from "@sluice/server/config"
import { SluiceError } from "sluice"
import type { DoctorInvocation } from "../../catalog/setup.js"
import { controlPlane, type ServiceClient } from "../../service-client.js"
import { VERSION } from "../../version.js"
import { type Finding, findings } from "./finding.js"

export async function serviceFindings(
  { options, env }: DoctorInvocation,
  config: Config | undefined,
): Promise<Finding[]> {
  const isNamed = options.url !== undefined || (env.SLUICE_URL ?? "") !== ""
  const configured =
    config === undefined ? undefined : `http://${urlHost(config.control.host)}:${config.control.port}`
  const service = controlPlane({ ...options, url: options.url ?? (isNamed ? undefined : configured) }, env)
  const { problem, skipped } = findings("service")
  try {
    return await runningFindings(service)
  } catch (error) {
    if (!(error instanceof SluiceError)) throw error
    if (isNamed)
      return [
        problem(
          error.message,
          "Start the service with sluice serve, or correct the address of its control plane.",
        ),
      ]
    return [
      skipped(`not running at ${service.url}`),
      ...(config === undefined ? [] : await portFindings(config)),
    ]
  }
}

async function runningFindings(service: ServiceClient): Promise<Finding[]> {
  const { fine, warning, problem } = findings("service")
  const response = await service.send("GET", "/readyz")
  const { status, revision } = await service.readJson<{ status: string; revision: number }>(response)
  const found = [
    status === "ready"
      ? fine(`${service.url} is ready, revision ${revision}`)
      : problem(
          `${service.url} is ${status}`,
          "Its store does not answer, or it could not load new rules. See its log and the metric sluice_store_failures_total.",
        ),
  ]
  const answer = await service
    .request<{ version: string }>("GET", "/version")
    .catch((error: unknown) => error)
  if (answer instanceof SluiceError)
    return [...found, warning(answer.message, "Pass a valid token with --token or SLUICE_TOKEN.")]
  const { version } = answer as { version: string }
  const aboutVersion = findings("service version")
  return [
    ...found,
    version === VERSION
      ? aboutVersion.fine(version)
      : aboutVersion.warning(
          `the service is ${version}, this command is ${VERSION}`,
          "Install the same version of both.",
        ),
  ]
}

async function portFindings({ http, grpc, resp, control }: Config): Promise<Finding[]> {
  const wanted = [
    ["http", { ...http, enabled: true }],
    ["grpc", grpc],
    ["resp", resp],
    ["control", control],
  ] as const
  const found: Finding[] = []
  for (const [name, { enabled, host, port }] of wanted) {
    if (!enabled || port === 0) continue
    const { fine, problem } = findings(`${name} port`)
    const reason = await listenError(host, port)
    found.push(
      reason === undefined
        ? fine(`${host}:${port} is free`)
        : problem(
            `${host}:${port} cannot be used (${reason})`,
            `Stop the program that listens there, or set ${name}.port to another port.`,
          ),
    )
  }
  return found
}

async function listenError(host: string, port: number): Promise<string | undefined> {
  return await new Promise((resolve) => {
    const server = createServer()
    server.once("error", (error: NodeJS.ErrnoException) => resolve(error.code ?? error.message))
    server.listen({ host, port }, () => server.close(() => resolve(undefined)))
  })
}

/** The host that a client connects to if the service listens on this host. */
function urlHost(host: string): string {
  if (host === "0.0.0.0" || host === "::") return "127.0.0.1"
  return host.includes(":") ? `[${host}]` : host
}
