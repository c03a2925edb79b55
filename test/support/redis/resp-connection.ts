import { connect, type Socket } from "node:net"
import { encodeCommand, parseReply, type RespEncoding, RespError, type RespReply } from "./resp.js"

export interface RespAddress {
  readonly host: string
  readonly port: number
}

export interface RespOptions {
  /** The time limit for connecting and for each command. A command that takes longer destroys the connection. Default 5,000. */
  timeoutMs?: number
  password?: string
  /** Default `utf8`. */
  encoding?: RespEncoding
}

interface Waiting {
  readonly resolve: (reply: RespReply) => void
  readonly reject: (error: Error) => void
  readonly timer: NodeJS.Timeout
}

/** One connection to one server. It never reconnects and never repeats a command. */
export class RespConnection {
  readonly #socket: Socket
  readonly #address: string
  readonly #timeoutMs: number
  readonly #encoding: RespEncoding
  readonly #waiting: Waiting[] = []
  #unread: Buffer = Buffer.alloc(0)

  private constructor(
    socket: Socket,
    { host, port }: RespAddress,
    { timeoutMs = 5_000, encoding = "utf8" }: RespOptions,
  ) {
    this.#socket = socket
    this.#address = `${host}:${port}`
    this.#timeoutMs = timeoutMs
    this.#encoding = encoding
    socket.setNoDelay(true)
    socket.on("data", (chunk) => this.#read(chunk))
    socket.on("error", (error) => this.#fail(error))
    socket.on("close", () => this.#fail(new Error(`${this.#address} closed the connection`)))
  }

  static async open(address: RespAddress, options: RespOptions = {}): Promise<RespConnection> {
    const connection = new RespConnection(
      await openSocket(address, options.timeoutMs ?? 5_000),
      address,
      options,
    )
    if (options.password !== undefined) await connection.command("AUTH", options.password)
    return connection
  }

  command(...args: readonly (string | number)[]): Promise<RespReply> {
    return new Promise((resolve, reject) => {
      if (this.#socket.destroyed || !this.#socket.writable) {
        reject(new Error(`the connection to ${this.#address} is closed`))
        return
      }
      const timer = setTimeout(() => {
        this.#fail(new Error(`${this.#address} did not answer ${args[0] ?? ""} within ${this.#timeoutMs} ms`))
      }, this.#timeoutMs)
      this.#waiting.push({ resolve, reject, timer })
      this.#socket.write(encodeCommand(args, this.#encoding))
    })
  }

  close(): void {
    this.#fail(new Error(`the connection to ${this.#address} was closed here`))
  }

  #read(chunk: Buffer): void {
    this.#unread = this.#unread.length === 0 ? chunk : Buffer.concat([this.#unread, chunk])
    try {
      for (;;) {
        const parsed = parseReply(this.#unread, 0, this.#encoding)
        if (parsed === undefined) return
        this.#unread = this.#unread.subarray(parsed.next)
        this.#settle(parsed.reply)
      }
    } catch (error) {
      this.#fail(error instanceof Error ? error : new Error(String(error)))
    }
  }

  #settle(reply: RespReply): void {
    const waiting = this.#waiting.shift()
    if (waiting === undefined) throw new Error(`${this.#address} sent a reply that nobody asked for`)
    clearTimeout(waiting.timer)
    if (reply instanceof RespError) waiting.reject(reply)
    else waiting.resolve(reply)
  }

  #fail(error: Error): void {
    this.#socket.destroy()
    for (const { reject, timer } of this.#waiting.splice(0)) {
      clearTimeout(timer)
      reject(error)
    }
  }
}

/** Opens a connection, sends one command, closes the connection. */
export async function callRedis(
  address: RespAddress,
  args: readonly (string | number)[],
  options: RespOptions = {},
): Promise<RespReply> {
  const connection = await RespConnection.open(address, options)
  try {
    return await connection.command(...args)
  } finally {
    connection.close()
  }
}

function openSocket({ host, port }: RespAddress, timeoutMs: number): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = connect({ host, port })
    const timer = setTimeout(() => {
      socket.destroy(new Error(`${host}:${port} did not accept a connection within ${timeoutMs} ms`))
    }, timeoutMs)
    const onError = (error: Error): void => {
      clearTimeout(timer)
      reject(error)
    }
    socket.once("error", onError)
    socket.once("connect", () => {
      clearTimeout(timer)
      socket.off("error", onError)
      resolve(socket)
    })
  })
}
