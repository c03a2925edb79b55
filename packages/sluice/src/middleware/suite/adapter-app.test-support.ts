// An application described without its framework, and requests to it, for all parts of the suite.

import { type IncomingMessage, request } from "node:http"
import type { Spelling } from "../../../../../test/support/spellings.js"
import type { RateLimitOptions, RequestDecision } from "../core/rate-limit-options.js"

export type SuiteOptions = RateLimitOptions<object>

/** Handles an allowed request. The framework handles its errors. */
export type SuiteHandler = (
  path: string,
  decision: RequestDecision | undefined,
  /** What the middleware puts decisions into. */
  holder: object,
) => SuiteAnswer | Promise<SuiteAnswer>

export interface SuiteAnswer {
  readonly status: number
  readonly body: string
}

export interface RunningApp {
  /** Without a slash at the end: `http://127.0.0.1:10123`. */
  readonly url: string
  close(): Promise<void>
}

/** Starts an application with these limits and returns its address. It is closed at the end of the test. */
export type Open = (limits: SuiteOptions | readonly SuiteOptions[], handler?: SuiteHandler) => Promise<string>

export const HELLO: SuiteAnswer = { status: 200, body: "hello" }

/** An exact algorithm without a window boundary that a test could meet. */
export const EXACT = { algorithm: "sliding-window-log", window: "1h" } as const

/** `/404` and the like respond with that status, `/throw` throws, all other paths respond 200. */
export function answerByPath(path: string): SuiteAnswer {
  if (path === "/throw") throw new Error("thrown on purpose")
  const status = Number(path.slice(1)) || 200
  return { status, body: String(status) }
}

export async function statuses(url: string, count: number): Promise<number[]> {
  const seen: number[] = []
  for (let i = 0; i < count; i++) seen.push((await fetch(url)).status)
  return seen
}

export async function statusAs(url: string, client: string): Promise<number> {
  return (await fetch(url, { headers: { "x-client": client } })).status
}

export async function statusFrom(url: string, forwardedFor: string): Promise<number> {
  return (await fetch(url, { headers: { "x-forwarded-for": forwardedFor } })).status
}

/** Sends header lines unchanged: name, value, name, value. */
export async function sendLines(
  url: string,
  { target, lines }: Spelling,
): Promise<{ status: number | undefined; body: string }> {
  const response = await new Promise<IncomingMessage>((resolve, reject) => {
    const headers = ["Host", new URL(url).host, ...lines]
    request(url, { path: target, headers, agent: false }, resolve).once("error", reject).end()
  })
  let body = ""
  for await (const chunk of response) body += chunk
  return { status: response.statusCode, body }
}

/** Requests a path unchanged; `fetch` would resolve its dots. */
export async function statusOfPath(url: string, path: string): Promise<number | undefined> {
  const response = await new Promise<IncomingMessage>((resolve, reject) => {
    request(url, { path, agent: false }, resolve).once("error", reject).end()
  })
  response.resume()
  return response.statusCode
}
