/** Numbers by the second, for the last `size` seconds. A second that was never set is zero. */
export class Columns<Field extends string> {
  readonly fields: readonly Field[]
  readonly #size: number
  /** Rings: a second is at its remainder by `size`. */
  readonly #values: Readonly<Record<Field, Float64Array>>
  /** The newest second that the rings have room for. */
  #last = 0

  constructor(fields: readonly Field[], size: number) {
    this.fields = fields
    this.#size = size
    this.#values = Object.fromEntries(fields.map((field) => [field, new Float64Array(size)])) as Record<
      Field,
      Float64Array
    >
  }

  /** Replaces the values of a second. Ignores a second that is older than `size`. */
  set(second: number, values: Readonly<Partial<Record<Field, number>>>): void {
    this.#advance(second)
    if (second <= this.#last - this.#size) return
    for (const field of this.fields) this.#values[field][second % this.#size] = values[field] ?? 0
  }

  /** The values of `count` seconds up to and including `upTo`, oldest first. */
  read(field: Field, upTo: number, count: number): number[] {
    this.#advance(upTo)
    const values = this.#values[field]
    const oldest = this.#last - this.#size + 1
    return Array.from({ length: count }, (_, i) => {
      const second = upTo - count + 1 + i
      return second < oldest || second < 0 ? 0 : (values[second % this.#size] as number)
    })
  }

  /** The sum over `count` seconds up to and including `upTo`. */
  sum(field: Field, upTo: number, count: number): number {
    return this.read(field, upTo, count).reduce((sum, value) => sum + value, 0)
  }

  /** Clears the places of all seconds up to this one: they still hold the values of `size` seconds earlier. */
  #advance(second: number): void {
    if (second <= this.#last) return
    const from = Math.max(this.#last + 1, second - this.#size + 1)
    for (let passed = from; passed <= second; passed++) {
      for (const field of this.fields) this.#values[field][passed % this.#size] = 0
    }
    this.#last = second
  }
}
