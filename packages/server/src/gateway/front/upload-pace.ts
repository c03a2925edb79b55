import type { UploadRate } from "../routes/route.js"

/**
 * Whether a client sends its body fast enough. Every byte gains it time, and waiting for it takes that time away; only so much
 * can be saved up, so that a body that came fast at first may pause later, but not for ever.
 */
export class UploadPace {
  readonly #msPerByte: number
  readonly #mostMs: number
  #leftMs: number
  /** Since when we wait for the client. Undefined while we do not. */
  #since: number | undefined

  constructor({ bytesPerSecond, graceMs }: UploadRate, mostMs: number, now: number) {
    this.#msPerByte = 1_000 / bytesPerSecond
    this.#mostMs = Math.max(mostMs, graceMs)
    this.#leftMs = graceMs
    this.#since = now
  }

  moved(bytes: number, now: number): void {
    this.#leftMs = Math.min(this.#mostMs, this.#leftAt(now) + bytes * this.#msPerByte)
    if (this.#since !== undefined) this.#since = now
  }

  /** It is the upstream that is waited for. */
  pause(now: number): void {
    this.#leftMs = this.#leftAt(now)
    this.#since = undefined
  }

  resume(now: number): void {
    this.#since ??= now
  }

  isTooSlow(now: number): boolean {
    return this.#leftAt(now) < 0
  }

  #leftAt(now: number): number {
    return this.#since === undefined ? this.#leftMs : this.#leftMs - (now - this.#since)
  }
}
