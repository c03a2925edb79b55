// The checks as a Worker: `/checks` runs them, every other path is the example application.

import { withRateLimit } from "sluice/fetch"
import { checks, runChecks } from "./checks.mjs"

const example = withRateLimit((request) => new Response(`hello from ${new URL(request.url).pathname}\n`), {
  algorithm: "token-bucket",
  limit: 3,
  window: "1m",
  ip: (request) => request.headers.get("cf-connecting-ip") ?? undefined,
})

// biome-ignore lint/style/noDefaultExport: workerd looks for the default export.
export default {
  async fetch(request) {
    if (new URL(request.url).pathname !== "/checks") return example(request)
    return Response.json(await runChecks(checks))
  },
}
