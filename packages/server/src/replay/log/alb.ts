import { withoutPort } from "./json-lines.js"
import type { LogReader } from "./log-reader.js"
import { LoggedRequest } from "./logged-request.js"
import { templateReader } from "./template.js"

const FIELDS =
  '$type $time_iso8601 $elb $remote_addr $target $request_time $target_time $response_time $status $target_status $received $sent "$request" "$http_user_agent" $rest'

/** The access log of an AWS Application Load Balancer. */
export function albReader(): LogReader {
  const fields = templateReader("alb", FIELDS, { isWhole: false })
  const read = (line: string): LoggedRequest | string | undefined => {
    const found = fields.read(line)
    if (!(found instanceof LoggedRequest)) return found
    // The field holds the client address with its port.
    const request = new LoggedRequest(found.at, withoutPort(found.ip), found.method, found.path)
    request.host = found.host
    request.headers = found.headers
    return request
  }
  return { format: "alb", read }
}
