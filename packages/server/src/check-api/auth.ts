// `ANY /v1/auth`: answers the auth subrequests of nginx (`auth_request`), Traefik (ForwardAuth) and Caddy (`forward_auth`). They
// send the headers of the client's request, and let it pass on a 2xx.

import { deniedAnswer } from "sluice/internal"
import type { RuleDecision } from "sluice/rules"
import { ask, type Core } from "../core.js"
import { type Answer, decisionHeaders } from "../http/answer.js"
import { forwardedReader } from "./forwarded-request.js"
import { type RequestRoute, statusParameter } from "./route.js"

export function authRoute(core: Core, trustedProxies: readonly string[] | undefined): RequestRoute {
  const readForwarded = forwardedReader(core, trustedProxies)
  return ({ request, query }) => {
    const asked = readForwarded(request)
    // Caddy keeps the client's query by default. Its parameters are not for this route then.
    const isClients = query !== "" && asked.path?.endsWith(`?${query}`) === true
    const deny = isClients ? undefined : statusParameter(query, "deny")
    const decision = ask(core, "auth", asked)
    return decision instanceof Promise
      ? decision.then((made) => authAnswer(made, deny))
      : authAnswer(decision, deny)
  }
}

/** `deny` overrides the status of the rule: nginx understands 401 and 403 only, and treats any other as an error. */
function authAnswer(decision: RuleDecision, deny: number | undefined): Answer {
  const headers = decisionHeaders(decision)
  if (decision.allowed) return { status: 200, type: "text/plain", body: "", headers }
  const { status, contentType, body } = deniedAnswer({}, undefined, decision)
  return { status: deny ?? status, type: contentType, body, headers }
}
