import type { BlockKey, GetKey, ResetKey, UnblockKey } from "../../catalog/keys.js"
import type { ExitCode } from "../../command.js"
import { printable } from "../../printable.js"
import { type Asking, controlPlane } from "../../service.js"
import { table } from "../../table.js"
import type { Terminal } from "../../terminal.js"
import { durationText } from "../../words.js"

interface KeyLimit {
  readonly name: string
  readonly limit: number | null
  readonly remaining: number | null
  readonly resetAfterMs: number
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
  const state = await ask(invocation, "GET", "")
  show(state, invocation)
  return state.allowed ? 0 : 1
}

export async function resetKey(invocation: ResetKey): Promise<ExitCode> {
  show(await ask(invocation, "POST", "/reset"), invocation)
  return 0
}

export async function blockKey(invocation: BlockKey): Promise<ExitCode> {
  show(await ask(invocation, "POST", "/block", { body: { duration: invocation.options.for } }), invocation)
  return 0
}

export async function unblockKey(invocation: UnblockKey): Promise<ExitCode> {
  show(await ask(invocation, "DELETE", "/block"), invocation)
  return 0
}

async function ask(
  { args, options, env }: GetKey,
  method: string,
  action: string,
  asking: Asking = {},
): Promise<KeyState> {
  const tier = options.tier === undefined ? "" : `?tier=${encodeURIComponent(options.tier)}`
  const path = `/keys/${encodeURIComponent(args.rule)}/${encodeURIComponent(args.key)}${action}${tier}`
  return await controlPlane(options, env).ask<KeyState>(method, path, asking)
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
  terminal.print(`${style.bold(printable(state.key))} of ${state.rule}: ${verdict(state, terminal)}`)
  if (state.limits.length === 0) {
    terminal.print("nothing limits it")
    return
  }
  terminal.print(
    table<KeyLimit>(
      state.limits,
      [
        { title: "LIMIT", text: ({ name }) => name },
        { title: "USED", text: ({ limit, remaining }) => used(limit, remaining), right: true },
        { title: "LEFT", text: ({ remaining }) => (remaining ?? "∞").toLocaleString("en"), right: true },
        {
          title: "UNUSED AGAIN IN",
          text: ({ resetAfterMs }) => (resetAfterMs === 0 ? "–" : durationText(resetAfterMs)),
          right: true,
        },
      ],
      style,
    ),
  )
}

function used(limit: number | null, remaining: number | null): string {
  return limit === null || remaining === null ? "–" : (limit - remaining).toLocaleString("en")
}

function verdict({ allowed, blockedForMs, mode, tier, degraded }: KeyState, { style }: Terminal): string {
  const parts = [
    allowed ? style.green("allowed") : style.red("denied"),
    ...(blockedForMs === undefined ? [] : [`blocked for ${durationText(blockedForMs)}`]),
    ...(mode === "enforce" ? [] : [`the rule is ${mode === "off" ? "off" : "in shadow"}`]),
    ...(tier === undefined ? [] : [`tier ${printable(tier)}`]),
    ...(degraded === undefined
      ? []
      : [style.yellow("the store does not answer: these are the counters of one instance")]),
  ]
  return parts.join(", ")
}
