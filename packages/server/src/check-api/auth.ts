// `ANY /v1/auth`: whether a proxy may let a request through. nginx `auth_request`, Traefik ForwardAuth and Caddy
// `forward_auth` all ask with the headers of the request and take a 2xx for yes.

import type { ServerResponse } from "node:http"
import { deniedAnswer } from "sluice/internal"
import type { RuleDecision } from "sluice/rules"
import { ask, type Core } from "../core.js"
import { decisionHeaders, send } from "../http/answer.js"
import { forwardedReader } from "./forwarded-request.js"
import type { PlainRoute } from "./plane.js"
import { statusParameter } from "./query.js"

export function authRoute(core: Core, trustedProxies: readonly string[] | undefined): PlainRoute {
  const readForwarded = forwardedReader(core, trustedProxies)
  return ({ request, response, query }) => {
    const asked = readForwarded(request)
    // Caddy keeps the client's query unless it is told another: then no word of it is meant for us.
    const isClients = query !== "" && asked.path?.endsWith(`?${query}`) === true
    const deny = isClients ? undefined : statusParameter(query, "deny")
    const decision = ask(core, "auth", asked)
    return decision instanceof Promise
      ? decision.then((made) => answer(response, made, deny))
      : answer(response, decision, deny)
  }
}

/** `deny` comes before what the rule says: nginx knows 401 and 403 only, and takes anything else for a failure of ours. */
function answer(response: ServerResponse, decision: RuleDecision, deny: number | undefined): void {
  const headers = decisionHeaders(decision)
  if (decision.allowed) {
    send(response, { status: 200, type: "text/plain", body: "", headers })
    return
  }
  const { status, contentType, body } = deniedAnswer({}, undefined, decision)
  send(response, { status: deny ?? status, type: contentType, body, headers })
}
