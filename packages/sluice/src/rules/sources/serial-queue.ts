/** Runs tasks one after the other, in the order they came. One that fails does not stop the next. */
export class Turns {
  #last: Promise<unknown> = Promise.resolve()

  take<T>(task: () => Promise<T>): Promise<T> {
    const turn = this.#last.then(task)
    this.#last = turn.catch(() => {})
    return turn
  }

  /** Resolves when all that was begun has ended. */
  async done(): Promise<void> {
    await this.#last
  }
}
