// What a Worker does while its module loads. workerd forbids timers and random values until a request arrives.

import crypto from "node:crypto"
import { syncBuiltinESMExports } from "node:module"

const forbidden = () => {
  throw new Error("not allowed while a module loads")
}
const { randomBytes, randomUUID } = crypto
const timers = { setImmediate, setInterval, setTimeout }
const { getRandomValues } = globalThis.crypto

Object.assign(crypto, { randomBytes: forbidden, randomUUID: forbidden })
syncBuiltinESMExports()
globalThis.crypto.getRandomValues = forbidden
Object.assign(globalThis, { setImmediate: forbidden, setInterval: forbidden, setTimeout: forbidden })

const { withRateLimit } = await import("sluice/fetch")
const { createRuleEngine } = await import("sluice/rules")
const limit = { limit: 1, window: "1m" }
const hello = () => new Response("hello")
const byLimit = withRateLimit(hello, { ...limit, ip: () => "192.0.2.7" })
const rules = { version: 1, rules: [{ id: "all", keyBy: ["apiKey"], limits: [limit] }] }
const byRules = withRateLimit(hello, { engine: createRuleEngine({ rules }) })

Object.assign(crypto, { randomBytes, randomUUID })
syncBuiltinESMExports()
globalThis.crypto.getRandomValues = getRandomValues
Object.assign(globalThis, timers)

const request = () => new Request("http://a.test/", { headers: { "x-api-key": "a" } })
const statuses = []
for (const handler of [byLimit, byLimit, byRules, byRules]) statuses.push((await handler(request())).status)
console.log(...statuses)
