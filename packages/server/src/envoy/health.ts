// The gRPC health checking protocol.

import { framed } from "./grpc-frame.js"
import type { StreamMethod, UnaryMethod } from "./grpc-method.js"
import { GrpcError } from "./grpc-status.js"
import { BYTES, ProtobufReader } from "./protobuf-reader.js"
import { ProtobufWriter } from "./protobuf-writer.js"

const SERVING = 1
const NOT_SERVING = 2
const SERVICE_UNKNOWN = 3

const SERVICE = "grpc.health.v1.Health"

/** Says whether the services are there to be asked, and tells who watches when that changes. */
export class Health {
  readonly #services: ReadonlySet<string>
  readonly #writer = new ProtobufWriter()
  readonly #watching = new Set<() => void>()
  #isServing = true

  /** The empty name, for the server as a whole, is always known. */
  constructor(services: readonly string[]) {
    this.#services = new Set(["", ...services])
  }

  setServing(isServing: boolean): void {
    if (isServing === this.#isServing) return
    this.#isServing = isServing
    for (const tell of this.#watching) tell()
  }

  get methods(): readonly (readonly [string, UnaryMethod | StreamMethod])[] {
    return [
      [`/${SERVICE}/Check`, { kind: "unary", answer: (message) => this.#check(message) }],
      [`/${SERVICE}/Watch`, this.#watch()],
    ]
  }

  #check(message: Buffer): Buffer {
    const service = serviceOf(message)
    if (!this.#services.has(service))
      throw new GrpcError("NOT_FOUND", `service: there is no "${service.slice(0, 100)}" here`)
    return this.#response(service)
  }

  #watch(): StreamMethod {
    return {
      kind: "stream",
      open: ({ send }) => {
        let tell: (() => void) | undefined
        return {
          message: (message) => {
            if (tell !== undefined)
              throw new GrpcError("INVALID_ARGUMENT", "this method takes one message, got more")
            const service = serviceOf(message)
            tell = () => send(this.#response(service))
            // A service that is not known may become so, and is watched like any other.
            this.#watching.add(tell)
            tell()
          },
          end() {
            if (tell === undefined)
              throw new GrpcError("INVALID_ARGUMENT", "the call ended before its message did")
          },
          closed: () => {
            if (tell !== undefined) this.#watching.delete(tell)
          },
        }
      },
    }
  }

  #response(service: string): Buffer {
    const status = this.#services.has(service) ? (this.#isServing ? SERVING : NOT_SERVING) : SERVICE_UNKNOWN
    return framed(this.#writer, (message) => message.uint(1, status))
  }
}

function serviceOf(message: Buffer): string {
  const reader = new ProtobufReader(message)
  let service = ""
  while (reader.next()) {
    if (reader.is(1, BYTES)) service = reader.string()
    else reader.skip()
  }
  return service
}
