// Requests to a running service over HTTP.

import { readFileSync } from "node:fs"
import { keptControlToken } from "@sluice/server/control-token"
import { serverErrorCodes } from "@sluice/server/errors"
import { type ErrorCode, errorCodes, SluiceError } from "sluice"
import type { RuleProblem } from "sluice/rules"
import { UsageError } from "./command.js"

type Environment = Readonly<Record<string, string | undefined>>

export interface RequestOptions {
  /** A string is sent as it is, anything else as JSON. */
  readonly body?: unknown
  /** The content type of the body. Default: application/json. */
  readonly type?: string
  readonly headers?: Readonly<Record<string, string>>
  readonly signal?: AbortSignal
  /** Default: 10,000. 0 waits without a limit. */
  readonly timeoutMs?: number
}

/** An error that the service answered, with the service's code and message. */
export class ServiceProblem extends SluiceError {
  readonly status: number
  readonly problems: readonly RuleProblem[]

  constructor(code: ErrorCode, status: number, detail: string, problems: readonly RuleProblem[]) {
    super(code, { place: "service", expected: detail })
    this.message = detail
    this.status = status
    this.problems = problems
  }
}

const TIMEOUT_MS = 10_000

export class ServiceClient {
  readonly url: string
  readonly #token: string | undefined

  constructor(url: string, token?: string) {
    this.url = url
    this.#token = token
  }

  /** Sends a request and returns the JSON of the response. */
  async request<T>(method: string, path: string, options: RequestOptions = {}): Promise<T> {
    return await this.readJson<T>(await this.send(method, path, options))
  }

  /** Reads the JSON of a response. A response without JSON does not come from Sluice. */
  async readJson<T>(response: Response): Promise<T> {
    return (await response.json().catch((cause: unknown) => {
      const what = cause instanceof SyntaxError ? "does not answer with JSON" : reasonOf(cause)
      throw this.#unreachable(`${what}; is this the right address?`, cause)
    })) as T
  }

  /** Sends a request and returns the response with its body unread. Throws the error that the service answers. */
  async send(method: string, path: string, options: RequestOptions = {}): Promise<Response> {
    const { body, type = "application/json", headers, signal, timeoutMs = TIMEOUT_MS } = options
    const timeout = timeoutMs === 0 ? undefined : AbortSignal.timeout(timeoutMs)
    const signals = [signal, timeout].filter((one) => one !== undefined)
    const response = await fetch(`${this.url}${path}`, {
      method,
      headers: {
        ...(this.#token === undefined ? {} : { authorization: `Bearer ${this.#token}` }),
        ...(body === undefined ? {} : { "content-type": type }),
        ...headers,
      },
      ...(body === undefined ? {} : { body: typeof body === "string" ? body : JSON.stringify(body) }),
      ...(signals.length === 0 ? {} : { signal: AbortSignal.any(signals) }),
    }).catch((cause: unknown) => {
      if (signal?.aborted) throw cause
      throw this.#unreachable(`does not answer (${reasonOf(cause)}); is the service running there?`, cause)
    })
    if (!response.ok) throw await this.#problem(response)
    return response
  }

  async #problem(response: Response): Promise<SluiceError> {
    const problem = (await response.json().catch(() => undefined)) as Problem | undefined
    if (!isCode(problem?.code))
      return this.#unreachable(
        `answers ${response.status}, but not as Sluice does; is this the right address?`,
      )
    const detail = `${problem.detail ?? problem.title}${hintFor(problem.code, this.url)}`
    return new ServiceProblem(problem.code, response.status, detail, problem.problems ?? [])
  }

  #unreachable(expected: string, cause?: unknown): SluiceError {
    return new SluiceError("SERVICE_UNREACHABLE", { place: this.url, expected, cause })
  }
}

interface Problem {
  readonly code?: string
  readonly title?: string
  readonly detail?: string
  readonly problems?: readonly RuleProblem[]
}

function isCode(code: string | undefined): code is ErrorCode {
  return code !== undefined && (Object.hasOwn(errorCodes, code) || Object.hasOwn(serverErrorCodes, code))
}

function reasonOf(error: unknown): string {
  const { name, cause, message } = error as Error & { cause?: NodeJS.ErrnoException }
  if (name === "TimeoutError") return "timed out"
  return cause?.code ?? cause?.message ?? message
}

function hintFor(code: ErrorCode, url: string): string {
  if (code === "TOKEN_REQUIRED") return "\nPass one with --token, SLUICE_TOKEN or SLUICE_TOKEN_FILE."
  if (code !== "PATH_UNKNOWN") return ""
  return `\nThe control plane (port 9090 by default) serves rules and keys, the data plane (8080) serves checks. ${url} may be the other one.`
}

const CONTROL_URL = "http://127.0.0.1:9090"
const DATA_URL = "http://127.0.0.1:8080"

interface ServiceOptions {
  readonly url?: string | undefined
  readonly token?: string | undefined
}

/** A client of the control plane that the options or the environment name. */
export function controlPlane({ url, token }: ServiceOptions, env: Environment): ServiceClient {
  const given = url ?? (env.SLUICE_URL || undefined)
  const address = checkUrl(given ?? CONTROL_URL, url === undefined ? "SLUICE_URL" : "--url")
  return new ServiceClient(address, token ?? tokenIn(env) ?? localToken(address, env))
}

/** The token that a service on this machine generated, if this user may read it. It is never sent to another machine. */
function localToken(address: string, env: Environment): string | undefined {
  const { hostname, port, protocol } = new URL(address)
  const isHere = ["localhost", "127.0.0.1", "[::1]"].includes(hostname)
  return isHere && protocol === "http:" ? keptControlToken(Number(port || 80), env) : undefined
}

/** A client of the data plane, which requires no token. */
export function dataPlane({ url }: ServiceOptions, env: Environment): ServiceClient {
  const given = url ?? (env.SLUICE_DATA_URL || undefined)
  return new ServiceClient(checkUrl(given ?? DATA_URL, url === undefined ? "SLUICE_DATA_URL" : "--url"))
}

function checkUrl(text: string, place: string): string {
  const url = URL.canParse(text) ? new URL(text) : undefined
  const isRight = url?.protocol === "http:" || url?.protocol === "https:"
  if (isRight && url.username === "" && url.password === "") return text.replace(/\/+$/, "")
  // The message must not show a password, even in an address that cannot be parsed.
  const found = text.replace(/^(\w+:\/\/)?.*@/s, "$1***@")
  if (isRight)
    throw new UsageError(place, "must not contain a user or password; pass a token with --token", { found })
  throw new UsageError(place, "must be an address such as http://127.0.0.1:9090", { found })
}

function tokenIn(env: Environment): string | undefined {
  const file = env.SLUICE_TOKEN_FILE || undefined
  const token = env.SLUICE_TOKEN || undefined
  if (file === undefined) return token
  if (token !== undefined) throw new UsageError("SLUICE_TOKEN_FILE", "cannot be combined with SLUICE_TOKEN")
  try {
    return readFileSync(file, "utf8").trim()
  } catch (error) {
    throw new UsageError(
      "SLUICE_TOKEN_FILE",
      `must name a file that can be read: ${(error as Error).message}`,
    )
  }
}
