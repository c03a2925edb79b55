// One client connection: reads bytes, runs commands and sends the replies of a read with one write. It stops reading when the
// client does not read its replies or when too many of its commands wait for the store.

import type { Socket } from "node:net"
import { SluiceError } from "sluice"
import { ConnectionBytes, type HeldBytes, UnreadOutput } from "../held-bytes.js"
import { AnswerQueue } from "./answer-queue.js"
import {
  type Call,
  type Command,
  type Host,
  hasArity,
  type Session,
  unknownCommand,
  wrongArity,
} from "./command.js"
import { commands } from "./commands.js"
import type { ReplyWriter } from "./reply-writer.js"
import { BROKEN, type RequestLimits, type RequestParser } from "./request-parser.js"
import type { Answer, Throttle } from "./throttle.js"
import { ThrottleArgumentError } from "./throttle-policy.js"

/** What all connections share. One connection at a time uses the parser and the reply writer. */
export interface ConnectionContext extends Host {
  readonly parser: RequestParser
  readonly reply: ReplyWriter
  readonly throttle: Throttle
  readonly limits: RequestLimits
  readonly heldBytes: HeldBytes
  /** Seconds since the listener started. */
  readonly seconds: number
  onError(error: unknown): void
}

/** Replies are sent at this size, even in the middle of a long pipeline. */
const FLUSH_BYTES = 16_384
/** When a client has this many bytes of unread or waiting replies, nothing more is read from it. */
const MAX_UNREAD_BYTES = 1_048_576
/** Commands of one client that wait for the store. */
const MAX_WAITING = 1_024
/** A pipeline yields to other connections after this time; the clock is read every so many commands. */
const MAX_RUN_MS = 5
const COMMANDS_PER_CLOCK_READ = 64
/** The limits of Redis for a client that has not logged in. */
const BEFORE_LOGIN: RequestLimits = { arguments: 10, bytes: 16_384 }

const THROTTLE = Buffer.from("cl.throttle")

export class Connection {
  readonly #socket: Socket
  readonly #context: ConnectionContext
  readonly #session: Session
  readonly #call: Call
  readonly #answers = new AnswerQueue(() => this.#answerSoon())
  /** Bytes of an incomplete command, or of commands that have to wait. */
  #rest: Buffer | undefined
  #isPaused = false
  #isAnswering = false
  /** The client has closed its side. */
  #hasEnded = false
  /** When the client last sent something. */
  #lastReadAt: number
  readonly #openedAt: number
  /** Since when the rest of a command is missing. */
  #incompleteSince: number | undefined
  /** Whether the limit of unread replies is reached: no command runs until the client reads. */
  #isFull = false
  readonly #held: ConnectionBytes
  readonly #unread: UnreadOutput

  constructor(socket: Socket, context: ConnectionContext, id: number) {
    const address = socket.remoteAddress ?? ""
    this.#socket = socket
    socket.on("data", (bytes) => this.#receive(bytes))
    this.#context = context
    this.#session = {
      id,
      address,
      name: "",
      protocol: 2,
      database: 0,
      isLoggedIn: !context.login.isRequired,
      isEnding: false,
    }
    const { parser: request, reply } = context
    this.#call = { host: context, session: this.#session, request, reply }
    this.#lastReadAt = context.seconds
    this.#openedAt = context.seconds
    this.#held = new ConnectionBytes(context.heldBytes)
    this.#unread = new UnreadOutput(socket)
    socket.on("drain", () => {
      this.#count()
      this.#continue()
    })
    socket.on("end", () => {
      this.#hasEnded = true
      this.#endIfDone()
    })
    socket.on("close", () => {
      this.#answers.clear()
      this.#rest = undefined
      this.#held.set(0)
    })
    // "close" always follows. A client that disconnects is not worth a report.
    socket.on("error", () => {})
  }

  onClose(listener: () => void): void {
    this.#socket.on("close", listener)
  }

  get ageSeconds(): number {
    return this.#context.seconds - this.#openedAt
  }

  /** Seconds since the client last sent something. */
  get idleSeconds(): number {
    return this.#context.seconds - this.#lastReadAt
  }

  /** Seconds for which the rest of a command has been missing. */
  get incompleteSeconds(): number {
    return this.#incompleteSince === undefined ? 0 : this.#context.seconds - this.#incompleteSince
  }

  /** Seconds for which the client has read none of its replies. Call it once a second. */
  unreadSeconds(): number {
    return this.#unread.age(this.#context.seconds)
  }

  get isLoggedIn(): boolean {
    return this.#session.isLoggedIn
  }

  /** Stops reading, answers the commands read so far, and closes. */
  end(): void {
    this.#session.isEnding = true
    this.#endIfDone()
  }

  destroy(): void {
    this.#socket.destroy()
  }

  /** Processes received bytes. `read` is valid only until this returns. */
  #receive(read: Buffer): void {
    this.#lastReadAt = this.#context.seconds
    if (this.#session.isEnding) return
    if (this.#rest === undefined) {
      this.#work(read)
    } else {
      const bytes = Buffer.concat([this.#rest, read])
      this.#rest = undefined
      // While the connection is paused, bytes that were already on their way may still arrive.
      if (this.#isPaused) {
        this.#rest = bytes
        this.#count()
      } else this.#work(bytes)
    }
  }

  /** Runs the commands in `bytes` until one is incomplete or the connection has to pause. */
  #work(bytes: Buffer): void {
    const { parser, reply, limits } = this.#context
    const session = this.#session
    reply.protocol = session.protocol
    let at = 0
    let done = 0
    let began = 0
    while (at < bytes.length && !session.isEnding && this.#mayContinue()) {
      const next = parser.parse(bytes, at, session.isLoggedIn ? limits : BEFORE_LOGIN)
      if (next < 0) {
        if (next === BROKEN) this.#refuse(`ERR ${parser.mistake}`)
        break
      }
      at = next
      if (parser.count > 0) this.#execute(reply)
      if (++done % COMMANDS_PER_CLOCK_READ !== 0) continue
      const now = performance.now()
      if (done === COMMANDS_PER_CLOCK_READ) began = now
      else if (now - began > MAX_RUN_MS) {
        this.#pause()
        setImmediate(() => this.#continue())
        break
      }
    }
    this.#flush()
    if (at < bytes.length && !session.isEnding) {
      if (at > 0 || this.#incompleteSince === undefined) this.#incompleteSince = this.#context.seconds
      this.#rest = bytes.subarray(at)
    } else {
      this.#incompleteSince = undefined
    }
    this.#count()
    this.#endIfDone()
  }

  /** Runs the command in the parser. */
  #execute(reply: ReplyWriter): void {
    const { parser, throttle } = this.#context
    const { isLoggedIn, database } = this.#session
    const start = reply.length
    let later: Promise<Answer> | undefined
    try {
      if (isLoggedIn && isThrottle(parser)) later = throttle.run(parser, database, reply)
      else later = this.#run(parser, reply)
    } catch (error) {
      reply.error(this.#messageOf(error))
    }
    if (later !== undefined) {
      this.#answers.wait(later, (error) => (writer) => writer.error(this.#messageOf(error)))
    } else if (this.#answers.length > 0) {
      this.#follow(reply, start)
    }
  }

  /** Moves a written reply to the queue, behind those that wait for the store. */
  #follow(reply: ReplyWriter, start: number): void {
    this.#answers.follow(Buffer.from(reply.written(start)))
    reply.length = start
    if (this.#answers.bytes > MAX_UNREAD_BYTES) this.#isFull = true
  }

  #run(request: RequestParser, reply: ReplyWriter): Promise<Answer> | undefined {
    const name = request.text(0).toLowerCase()
    const command: Command | undefined = commands.get(name)
    // A web page can make a browser send an HTTP request with commands in its body.
    if (name === "post" || name === "host:") {
      this.#session.isEnding = true
    } else if (!this.#session.isLoggedIn && command?.beforeLogin !== true) {
      reply.error("NOAUTH Authentication required.")
    } else if (command === undefined) {
      reply.error(unknownCommand(request))
    } else if (!hasArity(command, request.count)) {
      reply.error(wrongArity(command.name))
    } else {
      return command.run(this.#call)
    }
    return undefined
  }

  /** Reports a protocol error and closes: where the next command starts is unknown. */
  #refuse(message: string): void {
    const { reply } = this.#context
    const start = reply.length
    reply.error(message)
    if (this.#answers.length > 0) {
      this.#follow(reply, start)
    }
    this.#session.isEnding = true
  }

  #messageOf(error: unknown): string {
    if (error instanceof ThrottleArgumentError) return `ERR ${error.message}`
    if (error instanceof SluiceError) return `${error.code} ${error.message.replace(` [${error.code}]`, "")}`
    this.#context.onError(error)
    return "ERR internal error"
  }

  #mayContinue(): boolean {
    const { reply } = this.#context
    if (reply.length < FLUSH_BYTES && this.#answers.length < MAX_WAITING && !this.#isFull) return true
    this.#flush()
    if (!this.#isFull && this.#answers.length < MAX_WAITING) return true
    this.#pause()
    return false
  }

  #pause(): void {
    this.#isPaused = true
    this.#socket.pause()
  }

  /** Continues after the client has read its replies or the store has answered. */
  #continue(): void {
    if (!this.#isPaused || this.#answers.length >= MAX_WAITING || this.#isFull) return
    this.#isPaused = false
    this.#incompleteSince = undefined
    const bytes = this.#rest
    this.#rest = undefined
    if (bytes !== undefined) this.#work(bytes)
    if (!this.#isPaused) this.#socket.resume()
  }

  /** Writes all replies that become ready in this tick at once. */
  #answerSoon(): void {
    if (this.#isAnswering) return
    this.#isAnswering = true
    process.nextTick(() => {
      this.#isAnswering = false
      this.#context.reply.protocol = this.#session.protocol
      this.#answers.write(this.#context.reply)
      this.#flush()
      this.#count()
      this.#continue()
      this.#endIfDone()
    })
  }

  #flush(): void {
    this.#context.reply.flush(this.#socket)
    if (this.#socket.writableLength > 0) this.#count()
  }

  /** Updates the count of bytes held for this client, and disconnects it when all clients together hold too many. */
  #count(): void {
    const unsent = this.#socket.writableLength + this.#answers.bytes
    this.#isFull = unsent > MAX_UNREAD_BYTES
    if (!this.#held.set(unsent + (this.#rest?.length ?? 0))) this.destroy()
  }

  #endIfDone(): void {
    if (!(this.#session.isEnding || this.#hasEnded) || this.#answers.length > 0 || this.#isPaused) return
    if (!this.#socket.writableEnded) this.#socket.end()
    // Read and discard what the client still sends: unread bytes would make the kernel send a reset and lose the replies.
    this.#socket.resume()
  }
}

function isThrottle({ bytes, starts, ends }: RequestParser): boolean {
  const start = starts[0] as number
  if ((ends[0] as number) - start !== THROTTLE.length) return false
  for (let i = 0; i < THROTTLE.length; i++) {
    const byte = bytes[start + i] as number
    const small = byte >= 0x41 && byte <= 0x5a ? byte | 0x20 : byte
    if (small !== THROTTLE[i]) return false
  }
  return true
}
