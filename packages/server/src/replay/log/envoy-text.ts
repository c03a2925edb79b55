import type { LogReader } from "./log-reader.js"
import { templateReader } from "./template.js"

const FIELDS =
  '[$time_iso8601] "$request" $status $flags $received $sent $duration $upstream_time "$http_x_forwarded_for" "$http_user_agent" "$http_x_request_id" "$http_host" "$upstream_host"'

/** Envoy's default text format. It has no peer address, so the last address in X-Forwarded-For is the client. */
export function envoyTextReader(): LogReader {
  return templateReader("envoy", FIELDS, { isWhole: false })
}
