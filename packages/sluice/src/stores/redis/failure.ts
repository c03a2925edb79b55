import { isError, messageOf } from "../../notify.js"
import type { FailureKind } from "../fallback/store-failure.js"
import { StoreFailure } from "../fallback/store-failure.js"

/** The kind of an error of Redis, by the first word of its message. */
const KINDS: Record<string, FailureKind> = {
  READONLY: "readonly",
  LOADING: "loading",
  MASTERDOWN: "loading",
  CLUSTERDOWN: "cluster-down",
  TRYAGAIN: "cluster-down",
  MOVED: "cluster-down",
  ASK: "cluster-down",
  CROSSSLOT: "cluster-down",
  OOM: "out-of-memory",
  BUSY: "busy",
  UNKILLABLE: "busy",
  NOAUTH: "no-auth",
  WRONGPASS: "no-auth",
  NOPERM: "no-permission",
  WRONGTYPE: "wrong-type",
  MISCONF: "not-writable",
  NOREPLICAS: "not-writable",
}

export function isNoScript(error: unknown): boolean {
  return isError(error) && error.message.startsWith("NOSCRIPT")
}

/** A script ran a command that the user may not run. Redis 7.0 and later versions word this ERR differently. */
const SCRIPT_NOT_PERMITTED = /^ERR (The user executing the script can't|ACL failure in script)/

/** Errors of connections, by code, and by name or message. */
const CONNECTION_CODE = /^(E(?!RR)[A-Z]+$|ERR_(SOCKET|STREAM|SSL|TLS)|CONNECTION_|NR_)/
const CONNECTION =
  /Socket|Connection|Disconnect|ClientClosed|ClientOffline|MaxRetries|closed|offline|timed? ?out|Stream isn't writeable/i

/** Turns any error of a client into a `StoreFailure`. Messages of servers contain no passwords, those of sockets only an address. */
export function failureOf(error: unknown): StoreFailure {
  if (error instanceof StoreFailure) return error
  const message = messageOf(error)
  const word = /^-?([A-Z]+)\b/.exec(message)?.[1] ?? ""
  const kind = SCRIPT_NOT_PERMITTED.test(message) ? "no-permission" : KINDS[word]
  if (kind !== undefined) return new StoreFailure(kind, message, { cause: error })
  const { code = "", name = "" } = isError(error) ? (error as Error & { code?: string }) : {}
  // Redis may have run a command that was sent before the connection broke.
  if (
    word !== "ERR" &&
    (CONNECTION_CODE.test(String(code)) || CONNECTION.test(name) || CONNECTION.test(message))
  ) {
    return new StoreFailure("connection", message, { ambiguous: true, cause: error })
  }
  return new StoreFailure("other", message, { ambiguous: word !== "ERR", cause: error })
}

/** The failure of a request that could not be sent, because of a mistake in it or in this library. Nothing was charged. */
export function unsent(error: unknown): StoreFailure {
  return error instanceof StoreFailure
    ? error
    : new StoreFailure("other", `not sent: ${messageOf(error)}`, { cause: error })
}
