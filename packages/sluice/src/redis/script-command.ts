// A call of a script as ioredis sends one, but without the promise, the closures and the copies of arguments that ioredis
// makes for every command: a lone check would spend more time on those than on all of its own code.

/** What ioredis asks of a command that it writes to a socket, and answers. Tracers wrap `resolve` and `reject`. */
export class ScriptCommand {
  readonly name = "evalsha"
  readonly args: readonly string[]
  resolve: (reply: unknown) => void
  reject: (error: Error) => void
  /** What `sendCommand` returns. Nobody waits for it. */
  readonly promise = undefined
  /** Set by ioredis 6. */
  isTraced = false

  constructor(
    args: readonly string[],
    answered: (reply: unknown) => void,
    refused: (error: unknown) => void,
  ) {
    this.args = args
    this.resolve = answered
    this.reject = refused
  }

  /** Of ioredis 6. Replies stay as they are, bytes. */
  setReplyContext(): void {}

  toWritable(): string {
    let text = `*${this.args.length + 1}\r\n$7\r\nevalsha\r\n`
    for (const arg of this.args) text += `$${Buffer.byteLength(arg)}\r\n${arg}\r\n`
    return text
  }
}
