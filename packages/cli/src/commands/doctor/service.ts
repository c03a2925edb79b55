// The service itself: running and well, or free to start.

import { createServer } from "node:net"
import type { Config } from "@sluice/server/config"
import { SluiceError } from "sluice"
import type { DoctorInvocation } from "../../catalog/doctor.js"
import { controlPlane, type Service } from "../../service.js"
import { VERSION } from "../../version.js"
import { type Finding, findings } from "./finding.js"

export async function serviceFindings(
  { options, env }: DoctorInvocation,
  config: Config | undefined,
): Promise<Finding[]> {
  const isAsked = options.url !== undefined || (env.SLUICE_URL ?? "") !== ""
  const configured =
    config === undefined ? undefined : `http://${urlHost(config.control.host)}:${config.control.port}`
  const service = controlPlane({ ...options, url: options.url ?? (isAsked ? undefined : configured) }, env)
  const { problem, skipped } = findings("service")
  try {
    return await running(service)
  } catch (error) {
    if (!(error instanceof SluiceError)) throw error
    if (isAsked)
      return [problem(error.message, "Start it with sluice serve, or name the address of its control plane.")]
    return [
      skipped(`not running on ${service.url}`),
      ...(config === undefined ? [] : await portFindings(config)),
    ]
  }
}

async function running(service: Service): Promise<Finding[]> {
  const { fine, warning, problem } = findings("service")
  const response = await service.open("GET", "/readyz")
  const { status, revision } = await service.read<{ status: string; revision: number }>(response)
  const found = [
    status === "ready"
      ? fine(`${service.url} is ready, revision ${revision}`)
      : problem(
          `${service.url} is ${status}`,
          "Its store does not answer, or its rules may be old: see its log and sluice_store_failures_total.",
        ),
  ]
  const answer = await service.ask<{ version: string }>("GET", "/version").catch((error: unknown) => error)
  if (answer instanceof SluiceError)
    return [...found, warning(answer.message, "Give a token that it knows, with --token or SLUICE_TOKEN.")]
  const { version } = answer as { version: string }
  const name = findings("service version")
  return [
    ...found,
    version === VERSION
      ? name.fine(version)
      : name.warning(`${version}, and this command is ${VERSION}`, "Use the same version of both."),
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
    const { fine, problem } = findings(`port of ${name}`)
    const reason = await reasonNotToListen(host, port)
    found.push(
      reason === undefined
        ? fine(`${host}:${port} is free`)
        : problem(
            `${host}:${port} cannot be used (${reason})`,
            `Stop what listens there, or set ${name}.port to another one.`,
          ),
    )
  }
  return found
}

async function reasonNotToListen(host: string, port: number): Promise<string | undefined> {
  return await new Promise((resolve) => {
    const server = createServer()
    server.once("error", (error: NodeJS.ErrnoException) => resolve(error.code ?? error.message))
    server.listen({ host, port }, () => server.close(() => resolve(undefined)))
  })
}

/** What a client connects to: nobody listens on "everywhere". */
function urlHost(host: string): string {
  if (host === "0.0.0.0" || host === "::") return "127.0.0.1"
  return host.includes(":") ? `[${host}]` : host
}
