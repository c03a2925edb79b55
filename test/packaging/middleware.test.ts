// Every subpath as its users get it, with the types of the real frameworks and of the limiters that Sluice has stores for.

import { readFileSync } from "node:fs"
import { join } from "node:path"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { type Packed, packSluice, root } from "./packed.js"
import { compileProject, install, ON_NODE, runFile, writeProject } from "./project.js"

const FRAMEWORKS = ["express", "@types/express", "fastify", "hono", "koa", "@types/koa"]
const NEST = ["@nestjs/common", "@nestjs/core", "@nestjs/platform-express", "reflect-metadata"]
const LIMITERS = ["express-rate-limit", "@fastify/rate-limit", "@nestjs/throttler"]
const CLIENTS = ["ioredis", "redis"]
const OWN_DEPENDENCIES = ["zod", "yaml"]

const subpaths = (() => {
  const { exports } = JSON.parse(readFileSync(join(root, "packages/sluice/package.json"), "utf8"))
  const code = Object.keys(exports).filter((subpath) => !subpath.endsWith(".json"))
  return code.map((subpath) => `sluice${subpath.slice(1)}`)
})()

let packed: Packed

beforeAll(() => {
  packed = packSluice()
}, 60_000)

afterAll(() => packed?.remove())

interface Exports {
  readonly imported: readonly string[]
  readonly required: readonly string[]
}

/** What each subpath exports to each module system. Throws when one does not load, or prints a warning. */
function exportsOf(project: string, names: readonly string[]): Record<string, Exports> {
  const folder = writeProject(packed, project, {
    "main.mjs": `
      import { createRequire } from "node:module"
      const require = createRequire(import.meta.url)
      const all = {}
      for (const name of ${JSON.stringify(names)}) {
        const imported = Object.keys(await import(name))
        const required = Object.keys(require(name)).filter((key) => key !== "__esModule")
        all[name] = { imported: imported.sort(), required: required.sort() }
      }
      console.log(JSON.stringify(all))`,
  })
  const { status, stdout, stderr } = runFile(folder, "main.mjs")
  expect({ status, stderr }).toEqual({ status: 0, stderr: "" })
  return JSON.parse(stdout)
}

describe("with nothing else installed", () => {
  // The classes of nest's middleware are nest's, and rules have dependencies of their own.
  const alone = subpaths.filter((name) => name !== "sluice/nest" && !name.endsWith("/rules"))
  it("every other subpath loads, because it imports what it is for as types only", () => {
    expect(Object.keys(exportsOf("alone", alone))).toEqual(alone)
  })
})

const LIMIT = '{ limit: 100, window: "1m" }'

type Sources = Record<`${string}.ts`, string>

/** Every middleware but koa's. */
const middlewarePrograms: Sources = {
  "express.ts": `
    import express from "express"
    import { rateLimit } from "sluice/express"
    const app = express()
    app.use(rateLimit(${LIMIT}))
    app.get("/", (request, response) => void response.json(request.rateLimit?.remaining.toFixed()))
    // @ts-expect-error an option that does not exist
    rateLimit({ limit: 100, windw: "1m" })`,
  "fastify.ts": `
    import fastify from "fastify"
    import { rateLimit } from "sluice/fastify"
    const app = fastify()
    app.register(rateLimit, ${LIMIT})
    app.get("/", { config: { rateLimit: ${LIMIT} } }, (request) => request.rateLimit?.remaining.toFixed())
    app.get("/hook", { preHandler: app.rateLimit({ cost: 2 }) }, () => "hello")
    // @ts-expect-error a limit is a number
    app.get("/wrong", { config: { rateLimit: { limit: "5", window: "1m" } } }, () => "hello")`,
  "hono.ts": `
    import { Hono } from "hono"
    import { rateLimit } from "sluice/hono"
    const app = new Hono()
    app.use(rateLimit(${LIMIT}))
    app.get("/", (c) => c.text(c.get("rateLimit")?.remaining.toFixed() ?? ""))`,
  "node.ts": `
    import { createServer } from "node:http"
    import { withRateLimit } from "sluice/node"
    const limited = withRateLimit((request, response) => {
      response.end(request.rateLimit?.remaining.toFixed())
    }, ${LIMIT})
    createServer(limited)`,
  "fetch.ts": `
    import { createLimiter } from "sluice"
    import { limitFetch, withRateLimit } from "sluice/fetch"
    export const GET = withRateLimit((request: Request) => new Response(request.url), ${LIMIT})
    export const call: typeof fetch = limitFetch(fetch, createLimiter(${LIMIT}))`,
  "rules.ts": `
    import express from "express"
    import { rateLimit } from "sluice/express"
    import { createRuleEngine } from "sluice/rules"
    const engine = createRuleEngine({ rules: { version: 1, rules: [{ id: "all", limits: [${LIMIT}] }] } })
    express().use(rateLimit({ engine }))`,
}

/** Apart: sluice/fastify and @fastify/rate-limit both add `rateLimit` to the options of a route. */
const storePrograms: Sources = {
  "express-rate-limit.ts": `
    import { rateLimit } from "express-rate-limit"
    import { expressRateLimitStore } from "sluice/express"
    rateLimit({ windowMs: 60_000, limit: 100, store: expressRateLimitStore() })`,
  "fastify-rate-limit.ts": `
    import rateLimit from "@fastify/rate-limit"
    import fastify from "fastify"
    import { fastifyRateLimitStore } from "sluice/fastify-rate-limit"
    const app = fastify()
    app.register(rateLimit, { max: 100, timeWindow: "1 minute", store: fastifyRateLimitStore() })
    app.get("/", { config: { rateLimit: { max: 5 } } }, () => "hello")`,
  "throttler.ts": `
    import { ThrottlerModule } from "@nestjs/throttler"
    import { throttlerStorage } from "sluice/nest"
    ThrottlerModule.forRoot({ throttlers: [{ ttl: 60_000, limit: 100 }], storage: throttlerStorage() })`,
}

/** Apart: koa's own types do not pass beside the content-disposition that koa brings. */
const koaProgram: Sources = {
  "koa.ts": `
    import Koa from "koa"
    import { rateLimit } from "sluice/koa"
    const app = new Koa()
    app.use(rateLimit(${LIMIT}))
    app.use((context) => {
      context.body = context.state.rateLimit?.remaining.toFixed()
    })`,
}

const nestProgram = `
  import "reflect-metadata"
  import { Controller, Get, Module } from "@nestjs/common"
  import { NestFactory } from "@nestjs/core"
  import { RateLimit, RateLimitModule, SkipRateLimit } from "sluice/nest"

  @Controller()
  class Items {
    @RateLimit({ limit: 1, window: "1h", algorithm: "token-bucket" })
    @Get("own")
    own(): string { return "own" }

    @SkipRateLimit()
    @Get("free")
    free(): string { return "free" }

    @Get("other")
    other(): string { return "other" }
  }

  @Module({
    imports: [RateLimitModule.forRoot({ limit: 2, window: "1h", algorithm: "token-bucket" })],
    controllers: [Items],
  })
  class AppModule {}

  async function main(): Promise<void> {
    const app = await NestFactory.create(AppModule, { logger: false, forceCloseConnections: true })
    await app.listen(0, "127.0.0.1")
    const url = await app.getUrl()
    for (const path of ["own", "own", "other", "other", "other", "free"]) {
      console.log(path, (await fetch(url + "/" + path)).status)
    }
    await app.close()
  }
  void main()`

describe("beside what it is for", () => {
  // Not before: the tests above run first, and without.
  beforeAll(() => install(packed, [...FRAMEWORKS, ...NEST, ...LIMITERS, ...CLIENTS, ...OWN_DEPENDENCIES]))

  it("every subpath exports the same to import and to require, without a warning", () => {
    const all = exportsOf("exports", subpaths)
    expect(Object.keys(all)).toEqual(subpaths)
    for (const [name, { imported, required }] of Object.entries(all)) {
      expect(imported, name).not.toEqual([])
      expect(required, name).toEqual(imported)
    }
  })

  it("the types of both kinds of modules fit into one program", () => {
    const sources = {
      "shared.mts": `
        import express from "express"
        import { createLimiter, memoryStore } from "sluice"
        import { rateLimit } from "sluice/express"
        import { rateLimit as fastifyRateLimit } from "sluice/fastify"
        import { createRuleEngine } from "sluice/rules"
        export const store = memoryStore()
        export const limiter = createLimiter({ ...${LIMIT}, store })
        export const engine = createRuleEngine({ rules: { version: 1, rules: [] } })
        express().use(rateLimit({ limiter }))
        export const plugin = fastifyRateLimit`,
      "main.cts": `
        import express = require("express")
        import { createLimiter } from "sluice"
        import { rateLimit } from "sluice/express"
        import { rateLimit as fastifyRateLimit } from "sluice/fastify"
        import type { engine, limiter, store } from "./shared.mjs" with { "resolution-mode": "import" }
        export function limit(shared: { engine: typeof engine; limiter: typeof limiter; store: typeof store }) {
          express().use(rateLimit({ limiter: shared.limiter })).use(rateLimit({ engine: shared.engine }))
          return createLimiter({ ...${LIMIT}, store: shared.store })
        }
        export const plugin = fastifyRateLimit`,
    }
    const options = { module: "nodenext", noEmit: true, ...ON_NODE }
    expect(() => compileProject(packed, "both", sources, "module", options)).not.toThrow()
  })

  describe.each([
    ["an ES module", "module", "nodenext"],
    ["a CommonJS module", "commonjs", "node20"],
  ] as const)("in %s", (_what, type, module) => {
    it.each([
      ["koa's middleware", "koa", koaProgram, true],
      ["the stores for other limiters", "stores", storePrograms, false],
    ] as const)("the types of %s fit", (_what, name, sources, isUnsound) => {
      const options = { module, noEmit: true, skipLibCheck: isUnsound, ...ON_NODE }
      expect(() => compileProject(packed, `${name}-${type}`, sources, type, options)).not.toThrow()
    })

    it("the types of the other middlewares fit, and nest's decorators compile and limit", () => {
      const decorators = { experimentalDecorators: true, emitDecoratorMetadata: true }
      const options = { module, ...decorators, ...ON_NODE }
      const sources = { ...middlewarePrograms, "nest.ts": nestProgram }
      const folder = compileProject(packed, `middlewares-${type}`, sources, type, options)
      expect(runFile(folder, join("out", "nest.js"))).toEqual({
        status: 0,
        stdout: "own 200\nown 429\nother 200\nother 200\nother 429\nfree 200\n",
        stderr: "",
      })
    }, 120_000)
  })
})
