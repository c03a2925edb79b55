/** The gRPC status codes in use. */
export const GRPC_STATUS = {
  OK: 0,
  UNKNOWN: 2,
  INVALID_ARGUMENT: 3,
  DEADLINE_EXCEEDED: 4,
  NOT_FOUND: 5,
  RESOURCE_EXHAUSTED: 8,
  UNIMPLEMENTED: 12,
  INTERNAL: 13,
  UNAVAILABLE: 14,
} as const

export type GrpcStatus = keyof typeof GRPC_STATUS

/** Ends a call with a status other than OK. The message is for people. */
export class GrpcError extends Error {
  override readonly name = "GrpcError"
  readonly status: GrpcStatus

  constructor(status: GrpcStatus, message: string) {
    super(message)
    this.status = status
  }
}

const MAX_MESSAGE_LENGTH = 1_024

/** The headers `grpc-status` and `grpc-message`. The message is percent-encoded, so that it cannot end a header. */
export function statusHeaders({ status, message }: GrpcError): Record<string, string> {
  return {
    "grpc-status": String(GRPC_STATUS[status]),
    "grpc-message": percentEncoded(message.slice(0, MAX_MESSAGE_LENGTH)),
  }
}

/** Encodes everything except printable ASCII, and the percent sign. */
function percentEncoded(text: string): string {
  if (/^[ !-$&-~]*$/.test(text)) return text
  let encoded = ""
  for (const byte of Buffer.from(text)) {
    const isPlain = byte >= 0x20 && byte <= 0x7e && byte !== 0x25
    encoded += isPlain ? String.fromCharCode(byte) : `%${byte.toString(16).toUpperCase().padStart(2, "0")}`
  }
  return encoded
}
