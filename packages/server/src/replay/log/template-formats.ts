// Formats that are templates of fields, as other programs write them.

import { withoutPort } from "./json-lines.js"
import { LoggedRequest, type LogReader } from "./logged-request.js"
import { templateReader } from "./template.js"

const ALB_FIELDS =
  '$type $time_iso8601 $elb $remote_addr $target $request_time $target_time $response_time $status $target_status $received $sent "$request" "$http_user_agent" $rest'

/** The access log of an AWS Application Load Balancer. */
export function albReader(): LogReader {
  const fields = templateReader("alb", ALB_FIELDS, { isWhole: false })
  const read = (line: string): LoggedRequest | string | undefined => {
    const found = fields.read(line)
    if (!(found instanceof LoggedRequest)) return found
    // The field holds the client address with its port.
    const request = new LoggedRequest(found.at, withoutPort(found.ip), found.method, found.path)
    request.host = found.host
    request.headers = found.headers
    return request
  }
  return { ...fields, read }
}

const ENVOY_FIELDS =
  '[$time_iso8601] "$request" $status $flags $received $sent $duration $upstream_time "$http_x_forwarded_for" "$http_user_agent" "$http_x_request_id" "$http_host" "$upstream_host"'

/** Envoy's default text format. It has no peer address, so the last address in X-Forwarded-For is the client. */
export function envoyTextReader(): LogReader {
  return templateReader("envoy", ENVOY_FIELDS, { isWhole: false })
}
