// The cases of the benchmark: which requests go to which contender.

/**
 * - `http`: checks per second, one each request.
 * - `batch`: the same, a hundred each request.
 * - `grpc`, `resp`: Envoy's ShouldRateLimit, and CL.THROTTLE.
 * - `latency`: HTTP checks at half of what the slower of the two can take.
 * - `memory`: HTTP checks at full load for ten minutes.
 */
export const cases = ["http", "batch", "grpc", "resp", "latency", "memory"]

export const BATCH = 100
export const CONNECTIONS = 64
export const PATH = "/v1/check"
export const BATCH_PATH = "/v1/check/batch"

const check = { method: "GET", path: "/v1/items/7", user: "42" }
export const BODY = JSON.stringify(check)
export const BATCH_BODY = JSON.stringify({ checks: Array.from({ length: BATCH }, () => check) })

/**
 * @typedef {object} Contender
 * @property {string} name
 * @property {string} what  as shown in the docs
 */

/** @type {readonly Contender[]} */
export const contenders = [
  { name: "sluice", what: "the check API with its metrics, one rule, one limit, the embedded store" },
  {
    name: "bare",
    what: "node:http with a handler that reads the body and answers the same headers and bytes; for gRPC a unary method of @grpc/grpc-js that passes bytes through; for RESP redis-server and INCR",
  },
]
