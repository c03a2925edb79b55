// Outgoing calls to an API: at most 5 in any half second, and none while the API asks to wait.
//
//   node examples/outgoing/calls.mjs
//   prints: call 1 answered 200 after 0.0 s
//   prints: call 2 answered 200 after 0.0 s
//   prints: call 3 answered 200 after 1.0 s
//   prints: call 4 answered 200 after 1.0 s
//   prints: the API refused 1 call
//
// The API refuses the third call with `retry-after: 1`. limitFetch waits for a second, repeats it, and then makes the fourth.

import { createServer } from "node:http"
import { createLimiter } from "sluice"
import { limitFetch } from "sluice/fetch"

// A server in place of the API: it refuses the third call.
let calls = 0
let refused = 0
const api = createServer((_request, response) => {
  if (++calls === 3) {
    refused++
    response.writeHead(429, { "retry-after": "1" })
  }
  response.end()
}).listen(0, "127.0.0.1")
await new Promise((resolve) => api.once("listening", resolve))
const { port } = /** @type {import("node:net").AddressInfo} */ (api.address())

const limiter = createLimiter({ algorithm: "sliding-window-log", limit: 5, window: "500ms" })
const call = limitFetch(fetch, limiter, { retries: 2 })

const started = performance.now()
for (let i = 1; i <= 4; i++) {
  const response = await call(`http://127.0.0.1:${port}/`)
  const seconds = ((performance.now() - started) / 1000).toFixed(1)
  console.log(`call ${i} answered ${response.status} after ${seconds} s`)
}
console.log(`the API refused ${refused} call`)
api.close()
api.closeAllConnections()
