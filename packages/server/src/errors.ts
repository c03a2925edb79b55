/** The codes of the errors that the service and the gateway throw, each with its meaning. docs/errors.md explains them. */
export const serverErrorCodes = {
  CONFIG_INVALID: "The configuration was refused. `problems` lists every mistake in it.",
  CERTIFICATE_INVALID: "A certificate, key or CA file of the gateway cannot be used.",
  ACCESS_LOG_IO: "The gateway cannot write its access log.",
  BODY_INVALID_JSON: "The request body is not JSON.",
  BODY_NOT_OBJECT: "The request body is not a JSON object.",
  BODY_UNKNOWN_FIELD: "The request body has a field that does not exist.",
  BODY_FIELD_INVALID: "A field of the request body is missing or has an invalid value.",
  BODY_TOO_LARGE: "The request body has too many bytes.",
  BATCH_TOO_LARGE: "The batch has too many checks.",
  QUERY_INVALID: "A query parameter does not exist or has an invalid value.",
  PATH_UNKNOWN: "The service does not have this path.",
  METHOD_NOT_ALLOWED: "The path does not allow this method.",
  PROXY_UNTRUSTED: "The auth subrequest comes from a proxy that is not trusted.",
  FORWARDED_INVALID: "The auth subrequest does not describe the original request clearly.",
  BODY_TYPE_UNSUPPORTED: "The path does not accept this content type.",
  TOKEN_INVALID: "A token in the configuration is too short, or the hash of a token cannot be read.",
  TOKEN_REQUIRED: "The request has no token, or one that is not known.",
  ROLE_REQUIRED: "The role of the token does not allow this request to the control plane.",
  LOGIN_LIMITED: "Too many wrong tokens came from this address.",
  ORIGIN_REFUSED: "The request comes from a page of another site, or from a machine that may not send it.",
  LISTEN_UNSAFE: "The control plane would be reachable by everybody, without tokens.",
  IF_MATCH_REQUIRED: "A change of the rules does not say which revision it is based on.",
  ENTRY_UNKNOWN: "The client, list, tier or override does not exist.",
  EVENTS_FULL: "Live events have the maximum number of listeners.",
  EVENTS_CLOSED: "The service is stopping and sends no more live events.",
  AUDIT_IO: "The audit log could not be read or written.",
  LOG_FORMAT_UNKNOWN: "Replay does not know the format of the access log.",
  LOG_FORMAT_INVALID: "The description of a log format cannot be read, or does not fit the log.",
  RULES_BUSY: "Too many rule sets already wait to be checked.",
  REPLAY_BUSY: "Another replay is already running.",
  REPLAY_TOO_MUCH: "The replay exceeded its limit of time or memory.",
  LOG_IO: "The access log could not be read, or not to its end.",
} as const

declare module "sluice" {
  interface ErrorCodes extends Record<keyof typeof serverErrorCodes, string> {}
}
