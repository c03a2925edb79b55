// A running service, asked over HTTP.

import { readFileSync } from "node:fs"
import { keptControlToken } from "@sluice/server/control-token"
import { type ErrorCode, errorCodes, SluiceError } from "sluice"
import type { RuleProblem } from "sluice/rules"
import { UsageError } from "./usage-error.js"

type Environment = Readonly<Record<string, string | undefined>>

export interface Asking {
  readonly body?: unknown
  /** Of a body that is text already. */
  readonly type?: string
  readonly headers?: Readonly<Record<string, string>>
  readonly signal?: AbortSignal
  /** Default: 10,000. 0: for as long as it takes. */
  readonly withinMs?: number
}

/** What a service says is wrong, under the code that it says it with. */
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

const WITHIN_MS = 10_000

export class Service {
  readonly url: string
  readonly #token: string | undefined

  constructor(url: string, token?: string) {
    this.url = url
    this.#token = token
  }

  /** The answer's JSON. */
  async ask<T>(method: string, path: string, asking: Asking = {}): Promise<T> {
    return await this.read<T>(await this.open(method, path, asking))
  }

  /** The JSON of an answer. What has none is not Sluice. */
  async read<T>(response: Response): Promise<T> {
    return (await response.json().catch((cause: unknown) => {
      const what = cause instanceof SyntaxError ? "answers with something else than JSON" : reasonOf(cause)
      throw this.#unreachable(`${what}; is this the right address?`, cause)
    })) as T
  }

  /** The answer itself, its body unread. Throws what the service says is wrong. */
  async open(method: string, path: string, asking: Asking = {}): Promise<Response> {
    const { body, type = "application/json", headers, signal, withinMs = WITHIN_MS } = asking
    const late = withinMs === 0 ? undefined : AbortSignal.timeout(withinMs)
    const signals = [signal, late].filter((one) => one !== undefined)
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
        `answers ${response.status}, and not as Sluice does; is this the right address?`,
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
  return code !== undefined && Object.hasOwn(errorCodes, code)
}

function reasonOf(error: unknown): string {
  const { name, cause, message } = error as Error & { cause?: NodeJS.ErrnoException }
  if (name === "TimeoutError") return "timed out"
  return cause?.code ?? cause?.message ?? message
}

function hintFor(code: ErrorCode, url: string): string {
  if (code === "TOKEN_REQUIRED") return "\nGive it with --token, SLUICE_TOKEN or SLUICE_TOKEN_FILE."
  if (code !== "PATH_UNKNOWN") return ""
  return `\nRules and keys are asked of the control plane (port 9090 by default), checks of the data plane (8080); ${url} may be the other one.`
}

const CONTROL_URL = "http://127.0.0.1:9090"
const DATA_URL = "http://127.0.0.1:8080"

interface Given {
  readonly url?: string | undefined
  readonly token?: string | undefined
}

export function controlPlane({ url, token }: Given, env: Environment): Service {
  const given = url ?? (env.SLUICE_URL || undefined)
  const address = checkUrl(given ?? CONTROL_URL, url === undefined ? "SLUICE_URL" : "--url")
  return new Service(address, token ?? tokenIn(env) ?? tokenOf(address, env))
}

/** The token that a service on this machine has made for itself, if this user may read it. It never goes elsewhere. */
function tokenOf(address: string, env: Environment): string | undefined {
  const { hostname, port, protocol } = new URL(address)
  const isHere = ["localhost", "127.0.0.1", "[::1]"].includes(hostname)
  return isHere && protocol === "http:" ? keptControlToken(Number(port || 80), env) : undefined
}

/** It asks for no token: whoever reaches it may ask. */
export function dataPlane({ url }: Given, env: Environment): Service {
  const given = url ?? (env.SLUICE_DATA_URL || undefined)
  return new Service(checkUrl(given ?? DATA_URL, url === undefined ? "SLUICE_DATA_URL" : "--url"))
}

function checkUrl(text: string, place: string): string {
  const url = URL.canParse(text) ? new URL(text) : undefined
  const isRight = url?.protocol === "http:" || url?.protocol === "https:"
  if (isRight && url.username === "" && url.password === "") return text.replace(/\/+$/, "")
  // A password is never shown, also not where it makes the address unreadable.
  const found = text.replace(/^(\w+:\/\/)?.*@/s, "$1***@")
  if (isRight)
    throw new UsageError(place, "must not hold a user or password; a token is given with --token", { found })
  throw new UsageError(place, "must be an address such as http://127.0.0.1:9090", { found })
}

function tokenIn(env: Environment): string | undefined {
  const file = env.SLUICE_TOKEN_FILE || undefined
  const token = env.SLUICE_TOKEN || undefined
  if (file === undefined) return token
  if (token !== undefined) throw new UsageError("SLUICE_TOKEN_FILE", "cannot be given beside SLUICE_TOKEN")
  try {
    return readFileSync(file, "utf8").trim()
  } catch (error) {
    throw new UsageError("SLUICE_TOKEN_FILE", `names a file that cannot be read: ${(error as Error).message}`)
  }
}
