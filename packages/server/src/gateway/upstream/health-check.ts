/** How often a target is asked, and what to make of its answers. */
export interface HealthCheckOptions {
  readonly intervalMs: number
  /** Bad answers in a row until it gets no more requests. */
  readonly unhealthyAfter: number
  /** Good answers in a row until it gets them again. */
  readonly healthyAfter: number
}

export interface CheckedTarget {
  readonly origin: string
  isHealthy: boolean
}

/** Undefined for a target that is well, otherwise why it is not. */
export type Probe = (origin: string) => Promise<string | undefined>

export type OnHealthChange = (target: CheckedTarget, reason: string | undefined) => void

/** Asks one target again and again how it is, until it is stopped. The first answer counts at once. */
export class HealthCheck {
  readonly #target: CheckedTarget
  readonly #probe: Probe
  readonly #options: HealthCheckOptions
  readonly #onChange: OnHealthChange
  #timer: NodeJS.Timeout | undefined
  #inRow = 0
  #isStopped = false

  constructor(
    target: CheckedTarget,
    probe: Probe,
    options: HealthCheckOptions,
    onChange: OnHealthChange = () => {},
  ) {
    this.#target = target
    this.#probe = probe
    this.#options = options
    this.#onChange = onChange
  }

  /** Resolves once it has been asked for the first time. */
  async start(): Promise<void> {
    const reason = await this.#probe(this.#target.origin)
    if (this.#isStopped) return
    if (reason !== undefined) this.#turn(false, reason)
    this.#wait()
  }

  stop(): void {
    this.#isStopped = true
    clearTimeout(this.#timer)
  }

  #wait(): void {
    const { intervalMs } = this.#options
    // Not in step: a fleet that asks at the same moment is a load of its own.
    const ms = intervalMs * (0.9 + 0.2 * Math.random())
    this.#timer = setTimeout(() => void this.#look(), ms).unref()
  }

  async #look(): Promise<void> {
    const reason = await this.#probe(this.#target.origin)
    if (this.#isStopped) return
    const { unhealthyAfter, healthyAfter } = this.#options
    const isWell = reason === undefined
    if (isWell === this.#target.isHealthy) this.#inRow = 0
    else if (++this.#inRow >= (isWell ? healthyAfter : unhealthyAfter)) this.#turn(isWell, reason)
    this.#wait()
  }

  #turn(isHealthy: boolean, reason: string | undefined): void {
    this.#inRow = 0
    this.#target.isHealthy = isHealthy
    this.#onChange(this.#target, reason)
  }
}
