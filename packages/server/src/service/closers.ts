/** Things to close, the last opened first. Each is closed even if another fails to. */
export class Closers {
  readonly #closers: (() => void | Promise<void>)[] = []

  add(close: () => void | Promise<void>): void {
    this.#closers.push(close)
  }

  async close(): Promise<void> {
    const errors: unknown[] = []
    for (const close of this.#closers.splice(0).reverse()) {
      try {
        await close()
      } catch (error) {
        errors.push(error)
      }
    }
    if (errors.length > 0) throw errors[0]
  }
}
