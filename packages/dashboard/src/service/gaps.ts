/** Spans of time in which the page could not hear from the service, so that it does not know what the service decided. */
export class Gaps {
  #gaps: readonly { readonly from: number; readonly to: number }[] = []

  /** The service became unreachable at this second. */
  open(second: number): void {
    if (this.#gaps.at(-1)?.to !== Number.POSITIVE_INFINITY)
      this.#gaps = [...this.#gaps, { from: second, to: Number.POSITIVE_INFINITY }]
  }

  /** The service answers again and knows everything since `knownSince`: what is earlier stays unknown. */
  close(knownSince: number): void {
    this.#gaps = this.#gaps
      .map(({ from, to }) => ({ from, to: Math.min(to, knownSince) }))
      .filter(({ from, to }) => from < to)
  }

  has(second: number): boolean {
    return this.#gaps.some(({ from, to }) => from <= second && second < to)
  }
}
