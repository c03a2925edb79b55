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

/** Reports whether the services are serving, and notifies watchers of changes. */
export class Health {
  readonly #services: ReadonlySet<string>
  readonly #writer = new ProtobufWriter()
  readonly #watchers = new Set<() => void>()
  #isServing = true

  /** The empty name stands for the whole server and is always known. */
  constructor(services: readonly string[]) {
    this.#services = new Set(["", ...services])
  }

  setServing(isServing: boolean): void {
    if (isServing === this.#isServing) return
    this.#isServing = isServing
    for (const notify of this.#watchers) notify()
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
      throw new GrpcError("NOT_FOUND", `unknown service "${service.slice(0, 100)}"`)
    return this.#response(service)
  }

  #watch(): StreamMethod {
    return {
      kind: "stream",
      open: ({ send }) => {
        let notify: (() => void) | undefined
        return {
          message: (message) => {
            if (notify !== undefined)
              throw new GrpcError("INVALID_ARGUMENT", "this method takes one message, got more")
            const service = serviceOf(message)
            notify = () => send(this.#response(service))
            // The protocol allows watching an unknown service.
            this.#watchers.add(notify)
            notify()
          },
          end() {
            if (notify === undefined)
              throw new GrpcError("INVALID_ARGUMENT", "the call ended before its message did")
          },
          closed: () => {
            if (notify !== undefined) this.#watchers.delete(notify)
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
