// A call of a script as ioredis sends one, but without the promise, the closures and the copies of arguments that ioredis
// makes for every command: a lone check would spend more time on those than on all of its own code.

/**
 * What ioredis asks of a command that it writes to a socket, and answers. Tracers wrap `resolve` and `reject`, and call what
 * they wrapped by itself: no methods.
 */
export class ScriptCommand {
  readonly name = "evalsha"
  resolve: (reply: unknown) => void
  reject: (error: Error) => void
  /** What `sendCommand` returns. Nobody waits for it. */
  readonly promise = undefined
  /** Set by ioredis 6. */
  isTraced = false
  readonly #digest: string
  readonly #keys: readonly string[]
  readonly #rest: readonly string[]

  /** `rest` are the arguments that are no keys, in ASCII. */
  constructor(
    digest: string,
    keys: readonly string[],
    rest: readonly string[],
    answered: (reply: unknown) => void,
    refused: (error: unknown) => void,
  ) {
    this.#digest = digest
    this.#keys = keys
    this.#rest = rest
    this.resolve = answered
    this.reject = refused
  }

  /** As an error shows them. */
  get args(): string[] {
    return [this.#digest, String(this.#keys.length), ...this.#keys, ...this.#rest]
  }

  /** Of ioredis 6. Replies stay as they are, bytes. */
  setReplyContext(): void {}

  toWritable(): string {
    const digest = this.#digest
    const keys = this.#keys
    const rest = this.#rest
    const count = String(keys.length)
    let text = `*${3 + keys.length + rest.length}\r\n$7\r\nevalsha\r\n`
    text += `$${digest.length}\r\n${digest}\r\n$${count.length}\r\n${count}\r\n`
    for (const key of keys) text += `$${Buffer.byteLength(key)}\r\n${key}\r\n`
    for (const arg of rest) text += `$${arg.length}\r\n${arg}\r\n`
    return text
  }
}
