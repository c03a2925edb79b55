/** Runs tasks one after the other, in the order in which they were added. A task that fails does not stop the next one. */
export class SerialQueue {
  #last: Promise<unknown> = Promise.resolve()

  run<T>(task: () => Promise<T>): Promise<T> {
    const result = this.#last.then(task)
    this.#last = result.catch(() => {})
    return result
  }

  /** Resolves when all tasks added so far have ended. */
  async idle(): Promise<void> {
    await this.#last
  }
}
