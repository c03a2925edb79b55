/** Numbers by the second, for the last `size` seconds. A second that nothing was said of is zero. */
export class Columns<Field extends string> {
  readonly fields: readonly Field[]
  readonly #size: number
  readonly #values: Readonly<Record<Field, Float64Array>>
  /** The newest second that there is a place for. */
  #last = 0

  constructor(fields: readonly Field[], size: number) {
    this.fields = fields
    this.#size = size
    this.#values = Object.fromEntries(fields.map((field) => [field, new Float64Array(size)])) as Record<
      Field,
      Float64Array
    >
  }

  /** Replaces what a second has. What is too old for a place is left out. */
  set(second: number, values: Readonly<Partial<Record<Field, number>>>): void {
    this.#reach(second)
    if (second <= this.#last - this.#size) return
    for (const field of this.fields) this.#values[field][second % this.#size] = values[field] ?? 0
  }

  /** The values of `count` seconds up to this one, oldest first. */
  read(field: Field, upTo: number, count: number): number[] {
    this.#reach(upTo)
    const values = this.#values[field]
    const oldest = this.#last - this.#size + 1
    return Array.from({ length: count }, (_, i) => {
      const second = upTo - count + 1 + i
      return second < oldest || second < 0 ? 0 : (values[second % this.#size] as number)
    })
  }

  /** The sum over `count` seconds up to this one. */
  sum(field: Field, upTo: number, count: number): number {
    return this.read(field, upTo, count).reduce((sum, value) => sum + value, 0)
  }

  /** Makes place for seconds up to this one: their places still hold what was a whole round ago. */
  #reach(second: number): void {
    if (second <= this.#last) return
    const from = Math.max(this.#last + 1, second - this.#size + 1)
    for (let passed = from; passed <= second; passed++) {
      for (const field of this.fields) this.#values[field][passed % this.#size] = 0
    }
    this.#last = second
  }
}
