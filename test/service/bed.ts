// The service on a memory store and a clock to advance, behind a real listener.

import { memoryStore } from "sluice"
import { createRuleEngine, objectRules, parseRuleSet } from "sluice/rules"
import { ManualClock } from "sluice/testing"
import { type CheckApiOptions, createCheckApi } from "../../packages/server/src/check-api/check-api.js"
import { listenForChecks } from "../../packages/server/src/check-api/listen.js"
import type { Core, Decided } from "../../packages/server/src/core.js"

export interface Bed {
  readonly core: Core
  readonly clock: ManualClock
  readonly decided: readonly Decided[]
  readonly errors: readonly unknown[]
  /** Of the HTTP listener: `127.0.0.1:40123`. */
  readonly address: string
  readonly port: number
  readonly url: string
  close(): Promise<void>
}

export async function startBed(
  rules: string,
  {
    json,
    ...options
  }: Omit<CheckApiOptions, "json"> & {
    json?: (core: Core) => CheckApiOptions["json"]
  } = {},
): Promise<Bed> {
  const errors: unknown[] = []
  const clock = new ManualClock()
  const { core, decided, close } = openCore(rules, clock)
  const handler = createCheckApi(core, {
    ...options,
    json: json?.(core),
    onError: (error) => void errors.push(error),
  })
  const listener = await listenForChecks({ host: "127.0.0.1", port: 0, handler })
  return {
    core,
    clock,
    decided,
    errors,
    address: listener.address,
    port: portOf(listener.address),
    url: `http://${listener.address}`,
    async close() {
      await listener.close(0)
      await close()
    },
  }
}

/** What the protocols ask, without any of them. */
export function openCore(rules: string, clock: ManualClock) {
  const store = memoryStore({ clock })
  const source = objectRules(parseRuleSet(rules), { clock })
  const engine = createRuleEngine({ rules: source, store, clock, secret: "for tests" })
  const decided: Decided[] = []
  const watch = { decided: (event: Decided) => void decided.push(event) }
  const core: Core = { engine, rules: source, store, watch }
  const close = async () => {
    await engine.close()
    await store.close()
  }
  return { core, decided, close }
}

export function portOf(address: string): number {
  return Number(address.slice(address.lastIndexOf(":") + 1))
}
