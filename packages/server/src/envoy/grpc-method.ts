// The methods of a gRPC server.

import type { GrpcError } from "./grpc-status.js"

/** One message in, one out. The answer includes its frame; a thrown error becomes the status of the call. */
export interface UnaryMethod {
  readonly kind: "unary"
  answer(message: Buffer): Buffer | Promise<Buffer>
}

/** Any number of messages in both directions. */
export interface StreamMethod {
  readonly kind: "stream"
  open(call: OutgoingMessages): IncomingMessages
}

export interface OutgoingMessages {
  /** Sends a message, which includes its frame. */
  send(frame: Buffer): void
  /** Ends the call with the status of the error, or OK. */
  end(error?: GrpcError): void
}

export interface IncomingMessages {
  message(message: Buffer): void
  /** The client has sent its last message. */
  end(): void
  /** The call is over, whichever side ended it. */
  closed?(): void
}

/** By path: `/package.Service/Method`. */
export type GrpcMethods = ReadonlyMap<string, UnaryMethod | StreamMethod>
