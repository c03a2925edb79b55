// Runs beside two installed copies of the library. Each copy is loaded as ES modules and as CommonJS, which makes four, and what
// one of them made is given to each other one. Prints one line for each pair.

import assert from "node:assert/strict"
import { createRequire } from "node:module"
import { join } from "node:path"
import { pathToFileURL } from "node:url"

const SUBPATHS = ["", "/fetch", "/redis", "/rules", "/testing"]
const MINUTE = { limit: 2, window: "1m", algorithm: "token-bucket" }

/** Everything that a copy exports, under one roof. */
async function load(name, from, how) {
  const require = createRequire(from)
  const { exports } = require("sluice/package.json")
  const folder = join(require.resolve("sluice/package.json"), "..")
  const modules = await Promise.all(
    SUBPATHS.map((subpath) => {
      const file = join(folder, exports[`.${subpath}`][how].default)
      return how === "require" ? require(file) : import(pathToFileURL(file).href)
    }),
  )
  return { name, ...Object.assign({}, ...modules) }
}

const first = import.meta.url
const second = new URL("second/main.mjs", first)
const copies = [
  await load("ESM", first, "import"),
  await load("CommonJS", first, "require"),
  await load("second ESM", second, "import"),
  await load("second CommonJS", second, "require"),
]

/** What must hold when `maker` makes something and `user` gets it. */
const checks = {
  "a store counts for both": (maker, user) => {
    const store = maker.memoryStore({ clock: new user.ManualClock() })
    const mine = maker.createLimiter({ ...MINUTE, store })
    const theirs = user.createLimiter({ ...MINUTE, store })
    assert.equal(mine.checkSync("a").remaining, 1)
    assert.equal(theirs.checkSync("a").remaining, 0)
    assert.equal(mine.checkSync("a").allowed, false)
    assert.equal(theirs.checkSync("a", { limit: 4 }).allowed, true)
  },

  "a store keeps the contract": async (maker, user) => {
    const tests = []
    user.describeStoreContract({
      name: "",
      open: () => maker.memoryStore(),
      describe: (_name, body) => body(),
      it: (_name, body) => tests.push(body),
    })
    assert.ok(tests.length > 50)
    for (const test of tests) await test()
  },

  "a store shards stores": async (maker, user) => {
    const nodes = ["a", "b"].map((name) => ({ name, store: maker.memoryStore() }))
    const limiter = maker.createLimiter({ ...MINUTE, store: user.shardedStore(nodes) })
    const decisions = [await limiter.check("a"), await limiter.check("a"), await limiter.check("a")]
    assert.deepEqual(
      decisions.map(({ allowed }) => allowed),
      [true, true, false],
    )
  },

  "a limiter limits requests and calls": async (maker, user) => {
    const limiter = maker.createLimiter(MINUTE)
    const handler = user.withRateLimit(() => new Response("hello"), { limiter, key: () => "a" })
    const statuses = []
    for (let i = 0; i < 3; i++) statuses.push((await handler(new Request("http://a.test"))).status)
    assert.deepEqual(statuses, [200, 200, 429])
    const call = user.limitFetch(async () => new Response("hello"), maker.createLimiter(MINUTE))
    assert.equal((await call("http://a.test")).status, 200)
  },

  "an engine limits requests, and a source feeds it": async (maker, user) => {
    const rules = maker.objectRules({
      version: 1,
      rules: [{ id: "all", keyBy: ["header:x-user"], limits: [MINUTE] }],
    })
    const engine = user.createRuleEngine({ rules, store: maker.memoryStore() })
    const handler = maker.withRateLimit(() => new Response("hello"), { engine })
    const request = () => new Request("http://a.test", { headers: { "x-user": "a" } })
    const responses = []
    for (let i = 0; i < 3; i++) responses.push(await handler(request()))
    assert.deepEqual(
      responses.map(({ status }) => status),
      [200, 200, 429],
    )
    await rules.save({ version: 1, rules: [] }, { by: "a test" })
    assert.equal((await handler(request())).status, 200)
    engine.close()
  },

  "limits that are nested show their headers together": async (maker, user) => {
    const own = { key: () => "a", headers: "draft-8" }
    const inner = maker.withRateLimit(() => new Response("hello"), { ...MINUTE, name: "inner", ...own })
    const outer = user.withRateLimit(inner, { ...MINUTE, limit: 5, name: "outer", ...own })
    const policy = (await outer(new Request("http://a.test"))).headers.get("ratelimit-policy")
    assert.match(policy, /"inner"/)
    assert.match(policy, /"outer"/)
  },

  "errors are instances of the same classes": (maker, user) => {
    const thrown = (call) => {
      try {
        call()
      } catch (error) {
        return error
      }
      throw new Error("nothing was thrown")
    }
    const mistake = thrown(() => maker.createLimiter({ limit: 0, window: "1m" }))
    assert.ok(mistake instanceof user.SluiceError)
    assert.ok(!(mistake instanceof user.RuleSetError))
    const refusal = thrown(() => maker.parseRuleSet("version: 2"))
    assert.ok(refusal instanceof user.RuleSetError)
    assert.ok(refusal instanceof user.SluiceError)
    const failure = new maker.StoreFailure("timeout", "late")
    assert.ok(failure instanceof user.StoreFailure)
    assert.ok(!(failure instanceof user.SluiceError))
  },

  "a store that fails makes decisions degraded": async (maker, user) => {
    // What the store needs to recognise a client of ioredis, and a connection that has ended.
    const client = { status: "end", callBuffer() {}, evalshaBuffer() {}, once() {} }
    const kinds = []
    const store = maker.redisStore(client, { onFailure: ({ failure }) => kinds.push(failure.kind) })
    const limiter = user.createLimiter({ ...MINUTE, store })
    const decision = await limiter.check("a")
    assert.deepEqual([decision.allowed, decision.degraded, kinds], [true, "local", ["connection"]])
    await limiter.close()
  },
}

let failed = 0
for (const maker of copies) {
  for (const user of copies) {
    if (maker === user) continue
    for (const [name, check] of Object.entries(checks)) {
      try {
        await check(maker, user)
      } catch (error) {
        failed++
        console.log(`${maker.name} → ${user.name}: ${name}: ${error.stack}`)
      }
    }
  }
}
const distinct = new Set(copies.map(({ createLimiter }) => createLimiter)).size
console.log(`${distinct} copies, ${failed} failed`)
