import type { Core } from "../../core.js"
import { stateOfStore } from "../../telemetry/store-state.js"

/** Whether load balancers should send traffic here. The service decides without Redis too, so a failed store does not count. */
export class Readiness {
  readonly #listeners: (() => void)[] = []
  #draining = false

  /** Calls back when draining begins. */
  onDrain(listener: () => void): void {
    this.#listeners.push(listener)
  }

  drain(): void {
    if (this.#draining) return
    this.#draining = true
    for (const listener of this.#listeners) listener()
  }

  get isReady(): boolean {
    return !this.#draining
  }

  /** The body of `/readyz`. */
  report(core: Core): { readonly status: "ready" | "degraded" | "draining"; readonly revision: number } {
    const { revision } = core.engine
    if (this.#draining) return { status: "draining", revision }
    const { breakers } = stateOfStore(core.store)
    const away = breakers !== undefined && breakers.open + breakers["half-open"] > 0
    return { status: away || core.rules.stale ? "degraded" : "ready", revision }
  }
}
