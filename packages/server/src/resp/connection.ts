// One client: bytes in, commands run, replies out in one write per turn. It stops reading when the client does not take
// its replies or has too many commands under way.

import type { Socket } from "node:net"
import { SluiceError } from "sluice"
import { ConnectionBytes, type HeldBytes } from "../held-bytes.js"
import type { SharedReads } from "../shared-reads.js"
import { AnswerQueue } from "./answer-queue.js"
import { viewOf } from "./byte-view.js"
import { type Call, type Command, type Host, hasArity, unknownCommand, wrongArity } from "./command.js"
import { commands } from "./commands.js"
import type { ReplyWriter } from "./reply-writer.js"
import { BROKEN, type RequestLimits, type RequestParser } from "./request-parser.js"
import { newSession, type Session } from "./session.js"
import { TermsError } from "./terms.js"
import type { Answer, Throttle } from "./throttle.js"

/** What connections share: they take turns. */
export interface Turns extends Host {
  readonly parser: RequestParser
  readonly reply: ReplyWriter
  readonly throttle: Throttle
  readonly reads: SharedReads
  readonly limits: RequestLimits
  readonly heldBytes: HeldBytes
  /** Seconds since the start. */
  readonly seconds: number
  onError(error: unknown): void
}

/** Replies are sent when there are so many bytes of them, in the middle of a long pipeline too. */
const FLUSH_AT = 16_384
/** Bytes of replies a client may leave untaken, or that wait for the store, before nothing more is read from it. */
const MOST_UNTAKEN = 1_048_576
/** Commands of one client that wait for the store. */
const MOST_WAITING = 1_024
/** A turn looks at the clock after so many commands, and ends after so long: others wait meanwhile. */
const COMMANDS_PER_LOOK = 64
const LONGEST_TURN_MS = 5
/** As in Redis: who has not logged in needs no more. */
const BEFORE_LOGIN: RequestLimits = { arguments: 10, bytes: 16_384 }

const THROTTLE = Buffer.from("cl.throttle")

export class Connection {
  readonly #socket: Socket
  readonly #turns: Turns
  readonly #session: Session
  readonly #call: Call
  readonly #answers = new AnswerQueue(() => this.#answerSoon())
  /** Bytes of a command that has not arrived as a whole, or that has to wait. */
  #rest: Buffer | undefined
  #isStalled = false
  #isAnswering = false
  /** The client sends nothing more. */
  #hasEnded = false
  /** When it last sent something, and since when it owes the rest of a command or does not take its replies. */
  #heardAt: number
  readonly #openedAt: number
  #owingSince: number | undefined
  /** Whether so many replies are untaken, or wait for others, that no command is run. */
  #isFull = false
  readonly #held: ConnectionBytes
  /** How many bytes of replies the client has taken, and since when no more. */
  #taken = 0
  #untakenSince: number | undefined

  constructor(accepted: Socket, turns: Turns, id: number) {
    const address = accepted.remoteAddress ?? ""
    const socket = turns.reads.open(accepted, (bytes) => {
      this.#take(bytes)
      return true
    })
    this.#socket = socket
    this.#turns = turns
    this.#session = newSession(id, address, !turns.login.isRequired)
    const { parser: request, reply } = turns
    this.#call = { host: turns, session: this.#session, request, reply }
    this.#heardAt = turns.seconds
    this.#openedAt = turns.seconds
    this.#held = new ConnectionBytes(turns.heldBytes)
    socket.on("drain", () => {
      this.#count()
      this.#goOn()
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
    // Always followed by "close"; a client that goes away is nothing to report.
    socket.on("error", () => {})
  }

  onClose(listener: () => void): void {
    this.#socket.on("close", listener)
  }

  get ageSeconds(): number {
    return this.#turns.seconds - this.#openedAt
  }

  /** Seconds since it last sent something. */
  get quietSeconds(): number {
    return this.#turns.seconds - this.#heardAt
  }

  /** Seconds it has owed the rest of a command. */
  get owingSeconds(): number {
    return this.#owingSince === undefined ? 0 : this.#turns.seconds - this.#owingSince
  }

  /** Seconds in which it has taken nothing of its replies. To be asked once a second. */
  untakenSeconds(): number {
    const { writableLength, bytesWritten } = this.#socket
    const taken = bytesWritten - writableLength
    if (writableLength === 0) this.#untakenSince = undefined
    else if (this.#untakenSince === undefined || taken !== this.#taken)
      this.#untakenSince = this.#turns.seconds
    this.#taken = taken
    return this.#untakenSince === undefined ? 0 : this.#turns.seconds - this.#untakenSince
  }

  get isLoggedIn(): boolean {
    return this.#session.isLoggedIn
  }

  /** Reads no more, answers what it has read, and closes. */
  end(): void {
    this.#session.isEnding = true
    this.#endIfDone()
  }

  cut(): void {
    this.#socket.destroy()
  }

  /** `read` is valid until this returns. */
  #take(read: Buffer): void {
    this.#heardAt = this.#turns.seconds
    if (this.#session.isEnding) return
    if (this.#rest === undefined) {
      this.#work(read)
    } else {
      const bytes = Buffer.concat([this.#rest, read])
      this.#rest = undefined
      // What comes while it is stalled was on its way when reading stopped.
      if (this.#isStalled) {
        this.#rest = bytes
        this.#count()
      } else this.#work(bytes)
    }
  }

  #work(bytes: Buffer): void {
    const { parser, reply, limits, throttle } = this.#turns
    const session = this.#session
    reply.protocol = session.protocol
    const view = viewOf(bytes)
    let at = 0
    let done = 0
    let began = 0
    while (at < bytes.length && !session.isEnding && this.#mayGoOn()) {
      let next = session.isLoggedIn ? throttle.find(view, at, bytes.length, limits.bytes) : 0
      const isRepeated = next > 0
      if (!isRepeated) next = parser.parse(bytes, at, session.isLoggedIn ? limits : BEFORE_LOGIN)
      if (next < 0) {
        if (next === BROKEN) this.#refuse(`ERR ${parser.mistake}`)
        break
      }
      at = next
      if (isRepeated) this.#execute(bytes, reply)
      else if (parser.count > 0) this.#execute(undefined, reply)
      if (++done % COMMANDS_PER_LOOK !== 0) continue
      const now = performance.now()
      if (done === COMMANDS_PER_LOOK) began = now
      else if (now - began > LONGEST_TURN_MS) {
        this.#stall()
        setImmediate(() => this.#goOn())
        break
      }
    }
    this.#flush()
    if (at < bytes.length && !session.isEnding) {
      if (at > 0 || this.#owingSince === undefined) this.#owingSince = this.#turns.seconds
      // A copy: the next read is written over these.
      this.#rest = Buffer.from(bytes.subarray(at))
    } else {
      this.#owingSince = undefined
    }
    this.#count()
    this.#endIfDone()
  }

  /** Runs the command in the parser, or the one found in the bytes `repeated`. */
  #execute(repeated: Buffer | undefined, reply: ReplyWriter): void {
    const { parser, throttle } = this.#turns
    const { isLoggedIn, database } = this.#session
    const start = reply.length
    let later: Promise<Answer> | undefined
    try {
      if (repeated !== undefined) later = throttle.repeat(repeated, database, reply)
      else if (isLoggedIn && isThrottle(parser)) later = throttle.run(parser, database, reply)
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

  /** A reply that is written, but has to wait for those before it. */
  #follow(reply: ReplyWriter, start: number): void {
    this.#answers.follow(Buffer.from(reply.written(start)))
    reply.length = start
    if (this.#answers.bytes > MOST_UNTAKEN) this.#isFull = true
  }

  #run(request: RequestParser, reply: ReplyWriter): Promise<Answer> | undefined {
    const name = request.text(0).toLowerCase()
    const command: Command | undefined = commands.get(name)
    // A web page can make a browser send this, with commands of its own in the body.
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

  /** Says what is wrong and closes: nobody knows where the next command would start. */
  #refuse(message: string): void {
    const { reply } = this.#turns
    const start = reply.length
    reply.error(message)
    if (this.#answers.length > 0) {
      this.#follow(reply, start)
    }
    this.#session.isEnding = true
  }

  #messageOf(error: unknown): string {
    if (error instanceof TermsError) return `ERR ${error.message}`
    if (error instanceof SluiceError) return `${error.code} ${error.message.replace(` [${error.code}]`, "")}`
    this.#turns.onError(error)
    return "ERR internal error"
  }

  #mayGoOn(): boolean {
    const { reply } = this.#turns
    if (reply.length < FLUSH_AT && this.#answers.length < MOST_WAITING && !this.#isFull) return true
    this.#flush()
    if (!this.#isFull && this.#answers.length < MOST_WAITING) return true
    this.#stall()
    return false
  }

  #stall(): void {
    this.#isStalled = true
    this.#socket.pause()
  }

  /** The client has taken its replies, or the store has answered. */
  #goOn(): void {
    if (!this.#isStalled || this.#answers.length >= MOST_WAITING || this.#isFull) return
    this.#isStalled = false
    this.#owingSince = undefined
    const bytes = this.#rest
    this.#rest = undefined
    if (bytes !== undefined) this.#work(bytes)
    if (!this.#isStalled) this.#socket.resume()
  }

  /** Once for all answers of a tick. */
  #answerSoon(): void {
    if (this.#isAnswering) return
    this.#isAnswering = true
    process.nextTick(() => {
      this.#isAnswering = false
      this.#turns.reply.protocol = this.#session.protocol
      this.#answers.write(this.#turns.reply)
      this.#flush()
      this.#count()
      this.#goOn()
      this.#endIfDone()
    })
  }

  #flush(): void {
    const { reply } = this.#turns
    if (reply.length === 0) return
    const socket = this.#socket
    if (socket.writableEnded || socket.destroyed) {
      reply.clear(false)
    } else if (socket.writableLength > 0) {
      socket.write(Buffer.from(reply.written()))
      reply.clear(false)
      this.#count()
    } else {
      socket.write(reply.written())
      // Nearly always the system has taken the bytes by now, and the buffer can be used again.
      reply.clear(socket.writableLength > 0)
    }
  }

  /** What the client makes us hold has changed. */
  #count(): void {
    const unsent = this.#socket.writableLength + this.#answers.bytes
    this.#isFull = unsent > MOST_UNTAKEN
    if (!this.#held.set(unsent + (this.#rest?.length ?? 0))) this.cut()
  }

  #endIfDone(): void {
    if (!(this.#session.isEnding || this.#hasEnded) || this.#answers.length > 0 || this.#isStalled) return
    if (!this.#socket.writableEnded) this.#socket.end()
    // What it still sends is read and dropped, so that it sees the replies and not a reset.
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
