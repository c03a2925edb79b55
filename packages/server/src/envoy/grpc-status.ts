/** The codes of gRPC that are used here. */
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

/** A call that ends with another status than OK. The message is for people. */
export class GrpcError extends Error {
  override readonly name = "GrpcError"
  readonly status: GrpcStatus

  constructor(status: GrpcStatus, message: string) {
    super(message)
    this.status = status
  }
}

const LONGEST_MESSAGE = 1_024

/** `grpc-status` and `grpc-message`. The message is percent-encoded, so that nothing in it can end a header. */
export function statusHeaders({ status, message }: GrpcError): Record<string, string> {
  return {
    "grpc-status": String(GRPC_STATUS[status]),
    "grpc-message": percentEncoded(message.slice(0, LONGEST_MESSAGE)),
  }
}

/** Bytes that are no printable ASCII, and the percent sign itself. */
function percentEncoded(text: string): string {
  if (/^[ !-$&-~]*$/.test(text)) return text
  let encoded = ""
  for (const byte of Buffer.from(text)) {
    const isPlain = byte >= 0x20 && byte <= 0x7e && byte !== 0x25
    encoded += isPlain ? String.fromCharCode(byte) : `%${byte.toString(16).toUpperCase().padStart(2, "0")}`
  }
  return encoded
}
