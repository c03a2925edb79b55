// What a gRPC server is made of: methods by their path.

import type { GrpcError } from "./grpc-status.js"

/** One message in, one out. The answer is framed; an error that is thrown becomes the status of the call. */
export interface UnaryMethod {
  readonly kind: "unary"
  answer(message: Buffer): Buffer | Promise<Buffer>
}

/** Messages in and out, as long as both sides like. */
export interface StreamMethod {
  readonly kind: "stream"
  open(call: OutgoingMessages): IncomingMessages
}

export interface OutgoingMessages {
  /** Sends a message in its frame. */
  send(frame: Buffer): void
  /** Ends the call, with OK unless an error says otherwise. */
  end(error?: GrpcError): void
}

export interface IncomingMessages {
  message(message: Buffer): void
  /** The client has nothing more to say. */
  end(): void
  /** The call is over, whoever ended it. */
  closed?(): void
}

/** By path: `/package.Service/Method`. */
export type GrpcMethods = ReadonlyMap<string, UnaryMethod | StreamMethod>
