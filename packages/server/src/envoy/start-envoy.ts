import { SluiceError } from "sluice"
import type { Core } from "../core.js"
import type { Listener } from "../listener.js"
import { framed } from "./grpc-frame.js"
import type { GrpcMethods, StreamMethod, UnaryMethod } from "./grpc-method.js"
import { type GrpcServerOptions, startGrpc } from "./grpc-server.js"
import { GrpcError } from "./grpc-status.js"
import { Health } from "./health.js"
import { ProtobufWriter } from "./protobuf-writer.js"
import { decodeRateLimitRequest } from "./rate-limit-request.js"
import { type RateLimitResponse, writeRateLimitResponse } from "./rate-limit-response.js"
import { reflectionMethods } from "./reflection.js"
import { type ShouldRateLimitOptions, StoreUnavailableError, shouldRateLimit } from "./should-rate-limit.js"

export interface EnvoyOptions extends Omit<GrpcServerOptions, "methods">, ShouldRateLimitOptions {}

export interface EnvoyListener extends Listener {
  /** Sets what the health service reports: false while the service is not ready or shuts down. */
  setServing(isServing: boolean): void
}

export const RATE_LIMIT_SERVICE = "envoy.service.ratelimit.v3.RateLimitService"

/** Serves Envoy's rate limit service over gRPC, with the health and reflection services. */
export async function startEnvoy(core: Core, options: EnvoyOptions): Promise<EnvoyListener> {
  const health = new Health([RATE_LIMIT_SERVICE])
  const methods: GrpcMethods = new Map<string, UnaryMethod | StreamMethod>([
    [`/${RATE_LIMIT_SERVICE}/ShouldRateLimit`, rateLimitMethod(core, options)],
    ...health.methods,
    ...reflectionMethods(),
  ])
  const listener = await startGrpc({ ...options, methods })
  return {
    address: listener.address,
    setServing: (isServing) => health.setServing(isServing),
    close(deadlineMs) {
      health.setServing(false)
      return listener.close(deadlineMs)
    },
  }
}

function rateLimitMethod(core: Core, options: ShouldRateLimitOptions): UnaryMethod {
  const decide = shouldRateLimit(core, "grpc", options)
  const writer = new ProtobufWriter()
  const encode = (response: RateLimitResponse) =>
    framed(writer, (message) => writeRateLimitResponse(message, response))
  return {
    kind: "unary",
    answer(message) {
      try {
        const response = decide(decodeRateLimitRequest(message))
        return response instanceof Promise ? response.then(encode, rethrow) : encode(response)
      } catch (error) {
        return rethrow(error)
      }
    },
  }
}

function rethrow(error: unknown): never {
  // With overall code UNKNOWN Envoy would allow the request; with an error its failure_mode_deny decides.
  if (error instanceof StoreUnavailableError) throw new GrpcError("UNKNOWN", error.message)
  if (error instanceof SluiceError && error.code === "STORE_CLOSED")
    throw new GrpcError("UNAVAILABLE", error.message)
  if (error instanceof SluiceError) throw new GrpcError("INVALID_ARGUMENT", error.message)
  throw error
}
