import type { LogReader } from "./log-reader.js"
import { templateReader } from "./template.js"

const FIELDS =
  '[$time_iso8601] "$request" $status $flags $received $sent $duration $upstream_time "$http_x_forwarded_for" "$http_user_agent" "$http_x_request_id" "$http_host" "$upstream_host"'

/** Envoy's own text format. It has no address of the peer: who asked is the last in X-Forwarded-For. */
export function envoyTextReader(): LogReader {
  return templateReader("envoy", FIELDS, { isWhole: false })
}
