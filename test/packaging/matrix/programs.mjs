// What the projects of the matrix contain: small programs and tests, as users write them.

/** For Jest and Vitest, which both have `test` and `expect`. The fake clock is that of the test runner. */
const testBody = (timers) => `
const limit = { limit: 1, window: "1m", algorithm: "token-bucket" }

test("decides, waits, and follows the fake clock of the tests", async () => {
  ${timers}.useFakeTimers()
  const limiter = createLimiter(limit)
  expect((await limiter.check("user:42")).allowed).toBe(true)
  expect((await limiter.check("user:42")).allowed).toBe(false)
  ${timers}.advanceTimersByTime(60_000)
  expect((await limiter.check("user:42")).allowed).toBe(true)
  ${timers}.useRealTimers()
  const quick = createLimiter({ ...limit, window: 50 })
  await quick.check("user:42")
  expect((await quick.wait("user:42")).allowed).toBe(true)
  await quick.close()
})

test("takes a clock of its own", async () => {
  const clock = new ManualClock()
  const limiter = createLimiter({ ...limit, clock })
  await limiter.check("user:42")
  expect((await limiter.check("user:42")).retryAfterMs).toBe(60_000)
})

test("reads rules in YAML", async () => {
  const rules = "version: 1\\nrules:\\n  - id: all\\n    keyBy: [header:x-user]\\n    limits: [{ limit: 1, window: 1m }]"
  const engine = createRuleEngine({ rules })
  const request = { method: "GET", path: "/", headers: { "x-user": "a" } }
  expect((await engine.check(request)).allowed).toBe(true)
  expect((await engine.check(request)).rule).toBe("all")
  engine.close()
})

test("throws errors that are instances of its class", () => {
  expect(() => createLimiter({ limit: 0, window: "1m" })).toThrow(SluiceError)
})

test("limits an express application", async () => {
  const app = express()
  app.use(rateLimit(limit))
  app.get("/", (_request, response) => void response.send("hello"))
  const server = app.listen(0, "127.0.0.1")
  await new Promise((resolve) => server.once("listening", resolve))
  const url = "http://127.0.0.1:" + server.address().port
  const statuses = [(await fetch(url)).status, (await fetch(url)).status]
  await new Promise((resolve) => server.close(resolve))
  expect(statuses).toEqual([200, 429])
})

test("decides without Redis, and says why it has to", async () => {
  const kinds = []
  const store = await connectRedis("redis://127.0.0.1:1", { onFailure: ({ failure }) => kinds.push(failure.kind) })
  try {
    const limiter = createLimiter({ ...limit, store })
    // The first check waits for the connection, as long as the deadline allows. The second one knows that it failed.
    expect((await limiter.check("user:42")).degraded).toBe("local")
    expect((await limiter.check("user:42")).degraded).toBe("local")
    // On a slow machine the connection has been refused more than once by then, which opens the breaker.
    expect(kinds).toEqual(["timeout", expect.stringMatching(/^(connection|breaker-open)$/)])
  } finally {
    await store.close()
  }
})
`

const names = {
  sluice: ["createLimiter", "SluiceError"],
  "sluice/express": ["rateLimit"],
  "sluice/redis": ["connectRedis"],
  "sluice/rules": ["createRuleEngine"],
  "sluice/testing": ["ManualClock"],
}

const lines = (line) =>
  Object.entries(names)
    .map(([from, list]) => line(list.join(", "), from))
    .join("\n")
const imports = `${lines((list, from) => `import { ${list} } from "${from}"`)}\nimport express from "express"\n`
const requires = `${lines((list, from) => `const { ${list} } = require("${from}")`)}\nconst express = require("express")\n`

export const jestTest = requires + testBody("jest")
export const jestModuleTest = `import { jest } from "@jest/globals"\n${imports}${testBody("jest")}`
export const vitestTest = `import { expect, test, vi } from "vitest"\n${imports}${testBody("vi")}`

/** The same for ts-jest, with the types that strict TypeScript asks for. */
export const tsJestTest = (imports + testBody("jest"))
  .replaceAll("const kinds = []", "const kinds: string[] = []")
  .replaceAll("server.address().port", "(server.address() as { port: number }).port")
  .replace("const limit = {", "const limit: LimitOptions = {")
  .replace("createLimiter, SluiceError }", "createLimiter, SluiceError, type LimitOptions }")

/** Prints `true 1`, and uses types strictly enough to notice when they are missing. */
export const typedProgram = `
import { createLimiter, SluiceError, type Decision } from "sluice"
import { withRateLimit } from "sluice/fetch"
import { redisStore } from "sluice/redis"
import { createRuleEngine } from "sluice/rules"
import { ManualClock } from "sluice/testing"

const limiter = createLimiter({ limit: 2, window: "1m", clock: new ManualClock() })
const report = ({ allowed, remaining }: Decision): void => console.log(allowed, remaining)

export const engine = createRuleEngine({ rules: { version: 1, rules: [] } })
export const GET = withRateLimit((request: Request) => new Response(request.url), { limiter })
export function misuse(error: unknown): void {
  if (error instanceof SluiceError && error.code === "LIMIT_INVALID") console.log(error.message)
  // @ts-expect-error a window is a duration or a number of milliseconds
  createLimiter({ limit: 2, window: true })
  // @ts-expect-error a decision is not any
  const text: string = limiter.checkSync("user:42")
  // @ts-expect-error an option that does not exist
  redisStore({}, { onFailed: text })
}
void limiter.check("user:42").then(report)
`

const printed = `.then(({ allowed, remaining }) => console.log(allowed, remaining))`
const bundledLimiter = `createLimiter({ limit: 2, window: "1m" }).check("user:42")${printed}
createRuleEngine({ rules: { version: 1, rules: [] } }).close()
`
/** For bundlers. Both print `true 1`. */
export const moduleProgram = `import { createLimiter } from "sluice"
import { createRuleEngine } from "sluice/rules"
${bundledLimiter}`
export const commonJsProgram = `const { createLimiter } = require("sluice")
const { createRuleEngine } = require("sluice/rules")
${bundledLimiter}`
