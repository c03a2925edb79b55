// The commands about keys: top, get, reset, block, unblock.

import type { BlockKey, GetKey, ResetKey, TopKeys, UnblockKey } from "../catalog/keys.js"
import type { ExitCode } from "../command.js"
import { controlPlane } from "../service-client.js"
import { table } from "../terminal/table.js"
import type { Terminal } from "../terminal/terminal.js"
import { counted, durationText, printable } from "../terminal/text.js"

export interface TopKey {
  readonly rule: string
  readonly key: string
  readonly count: number
  readonly error: number
}

export async function topKeys({ options, terminal, env }: TopKeys): Promise<ExitCode> {
  const { by, limit } = options
  const keys = await controlPlane(options, env).request<TopKey[]>("GET", `/top?by=${by}&limit=${limit}`)
  if (options.json) terminal.json(keys)
  else if (keys.length === 0) terminal.note(`no key was ${by} recently`)
  else
    terminal.print(
      table<TopKey>(
        keys,
        [
          {
            title: by.toUpperCase(),
            text: ({ count }) => Math.round(count).toLocaleString("en"),
            right: true,
          },
          {
            title: "±",
            text: ({ error }) => (error < 0.5 ? "" : Math.round(error).toLocaleString("en")),
            right: true,
          },
          { title: "RULE", text: ({ rule }) => rule },
          { title: "KEY", text: ({ key }) => key, paint: (text) => terminal.style.bold(text) },
        ],
        terminal.style,
      ),
    )
  return 0
}

interface KeyLimit {
  readonly name: string
  readonly limit: number | null
  readonly remaining: number | null
  readonly retryAfterMs: number | "never"
  readonly resetAfterMs: number
  readonly resetAt: number
  readonly windowMs: number
  readonly used: number | null
  readonly oldestAt?: number
  readonly newestAt?: number
  readonly buckets?: readonly {
    readonly startsAt: number
    readonly lengthMs: number
    readonly units: number
  }[]
  readonly penalty?: {
    readonly blockedSince?: number
    readonly denials: number
    readonly blocks: number
  }
}

interface KeyState {
  readonly rule: string
  readonly key: string
  readonly mode: string
  readonly allowed: boolean
  readonly blockedForMs?: number
  readonly tier?: string
  readonly degraded?: string
  readonly limits: readonly KeyLimit[]
}

export async function getKey(invocation: GetKey): Promise<ExitCode> {
  const state = await request(invocation, "GET", "")
  show(state, invocation)
  return state.allowed ? 0 : 1
}

export async function resetKey(invocation: ResetKey): Promise<ExitCode> {
  show(await request(invocation, "POST", "/reset"), invocation)
  return 0
}

export async function blockKey(invocation: BlockKey): Promise<ExitCode> {
  show(await request(invocation, "POST", "/block", { duration: invocation.options.for }), invocation)
  return 0
}

export async function unblockKey(invocation: UnblockKey): Promise<ExitCode> {
  show(await request(invocation, "DELETE", "/block"), invocation)
  return 0
}

async function request(
  { args, options, env }: GetKey,
  method: string,
  action: string,
  body?: unknown,
): Promise<KeyState> {
  const tier = options.tier === undefined ? "" : `?tier=${encodeURIComponent(options.tier)}`
  const path = `/keys/${encodeURIComponent(args.rule)}/${encodeURIComponent(args.key)}${action}${tier}`
  return await controlPlane(options, env).request<KeyState>(method, path, { body })
}

function show(
  state: KeyState,
  { options, terminal }: { options: GetKey["options"]; terminal: Terminal },
): void {
  const { style } = terminal
  if (options.json) {
    terminal.json(state)
    return
  }
  terminal.print(`key ${style.bold(printable(state.key))} of rule ${state.rule}: ${verdict(state, terminal)}`)
  if (state.limits.length === 0) {
    terminal.print("no limit applies")
    return
  }
  terminal.print(
    table<KeyLimit>(
      state.limits,
      [
        { title: "LIMIT", text: ({ name }) => name },
        { title: "USED", text: ({ used }) => (used ?? "–").toLocaleString("en"), right: true },
        { title: "OF", text: ({ limit }) => (limit ?? "∞").toLocaleString("en"), right: true },
        { title: "LEFT", text: ({ remaining }) => (remaining ?? "∞").toLocaleString("en"), right: true },
        { title: "WINDOW", text: ({ windowMs }) => durationText(windowMs), right: true },
        {
          title: "NEXT IN",
          text: ({ retryAfterMs: wait }) => (wait === "never" ? wait : wait === 0 ? "–" : durationText(wait)),
          right: true,
        },
        {
          title: "RESETS IN",
          text: ({ resetAfterMs }) => (resetAfterMs === 0 ? "–" : durationText(resetAfterMs)),
          right: true,
        },
      ],
      style,
    ),
  )
  for (const line of state.limits.flatMap((limit) => [...detailOf(limit), ...penaltyOf(limit)]))
    terminal.print(line)
}

const MAX_BUCKETS = 12

/** When the units of a limit were charged, as far as its algorithm keeps that. */
function detailOf({ name, oldestAt, newestAt, buckets = [], resetAt, resetAfterMs }: KeyLimit): string[] {
  // By the clock of the service, which may differ from that of this machine.
  const ago = (ms: number) => `${durationText(Math.max(0, resetAt - resetAfterMs - ms))} ago`
  if (oldestAt !== undefined && newestAt !== undefined)
    return [`${name}: oldest charge ${ago(oldestAt)}, newest ${ago(newestAt)}`]
  const [newest] = buckets
  if (newest === undefined) return []
  const shown = buckets
    .slice(0, MAX_BUCKETS)
    .map(({ units, startsAt }) => `${units.toLocaleString("en")} (since ${ago(startsAt)})`)
  const more = buckets.length > MAX_BUCKETS ? ` and ${buckets.length - MAX_BUCKETS} more` : ""
  return [`${name}: by bucket of ${durationText(newest.lengthMs)}, newest first: ${shown.join(", ")}${more}`]
}

/** Why a penalty of the limit blocks the key, or how near it is to that. */
function penaltyOf({ name, penalty, resetAt, resetAfterMs }: KeyLimit): string[] {
  if (penalty === undefined) return []
  const { blockedSince, denials, blocks } = penalty
  if (blockedSince === undefined)
    return [
      `${name}: ${counted(denials, "denial")} count towards a block, ${counted(blocks, "block")} before`,
    ]
  const ago = durationText(Math.max(0, resetAt - resetAfterMs - blockedSince))
  return [`${name}: blocked the key ${ago} ago, because it was denied too often (block ${blocks})`]
}

function verdict({ allowed, blockedForMs, mode, tier, degraded }: KeyState, { style }: Terminal): string {
  const parts = [
    allowed ? style.green("allowed") : style.red("denied"),
    ...(blockedForMs === undefined ? [] : [`blocked for ${durationText(blockedForMs)}`]),
    ...(mode === "enforce" ? [] : [`the rule is ${mode === "off" ? "off" : "in shadow mode"}`]),
    ...(tier === undefined ? [] : [`tier ${printable(tier)}`]),
    ...(degraded === undefined
      ? []
      : [style.yellow("the store does not answer: this is the usage that one instance counted")]),
  ]
  return parts.join(", ")
}
