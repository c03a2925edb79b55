// The checks as a Worker: `/checks` runs them, every other path is the example application. As in most Workers, limiter and
// engine are created while the module loads, when workerd forbids timers and random values.

import { withRateLimit } from "sluice/fetch"
import { createRuleEngine } from "sluice/rules"
import { checks, runChecks } from "./checks.mjs"

const client = { ip: (request) => request.headers.get("cf-connecting-ip") ?? undefined }
const hello = (request) => new Response(`hello from ${new URL(request.url).pathname}\n`)
const limit = { algorithm: "token-bucket", limit: 3, window: "1m" }

const byLimit = withRateLimit(hello, { ...limit, ...client })
const engine = createRuleEngine({ rules: { version: 1, rules: [{ id: "all", limits: [limit] }] } })
const byRules = withRateLimit(hello, { engine, ...client })

// biome-ignore lint/style/noDefaultExport: workerd looks for the default export.
export default {
  async fetch(request) {
    const { pathname } = new URL(request.url)
    if (pathname === "/checks") return Response.json(await runChecks(checks))
    return pathname.startsWith("/rules/") ? byRules(request) : byLimit(request)
  },
}
