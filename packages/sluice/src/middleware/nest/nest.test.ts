import type { ExceptionFilter, ExecutionContext, ModuleMetadata, Type } from "@nestjs/common"
import { All, Catch, Controller, HttpException, Injectable, Req, Res, UseGuards } from "@nestjs/common"
import { APP_FILTER, APP_GUARD } from "@nestjs/core"
import type { NestFastifyApplication } from "@nestjs/platform-fastify"
import type { Request, Response } from "express"
import { afterEach, describe, expect, it } from "vitest"
import { memoryStore } from "../../stores/memory/memory-store.js"
import { rateLimit as expressRateLimit } from "../express.js"
import { rateLimit as fastifyRateLimit } from "../fastify/fastify.js"
import { describeAdapter, type RunningApp, type SuiteHandler } from "../suite/adapter-suite.test-support.js"
import {
  type NestRateLimitOptions,
  type NestRequest,
  RateLimit,
  RateLimitException,
  RateLimitGuard,
  RateLimitModule,
  SkipRateLimit,
} from "./nest.js"
import { controller, decorate, type Platform, startNest } from "./nest-app.test-support.js"
import { LIMITS, type NestLimits } from "./nest-limits.js"

const GUARDED = { provide: APP_GUARD, useClass: RateLimitGuard }

/** Handles every path, as the suite needs it. */
function suiteController(platform: Platform, handler: SuiteHandler): Type {
  class Everything {
    async handle(request: NestRequest, response: Response): Promise<void> {
      const { pathname } = new URL(request.originalUrl, "http://localhost")
      const { status, body } = await handler(pathname, request.rateLimit ?? undefined, request)
      response.status(status).send(body)
    }
  }
  Req()(Everything.prototype, "handle", 0)
  Res()(Everything.prototype, "handle", 1)
  decorate(Everything, "handle", All(platform === "express" ? ["/", "*path"] : "*"))
  Controller()(Everything)
  return Everything
}

for (const platform of ["express", "fastify"] as const) {
  describeAdapter({
    name: `nest on ${platform}`,
    // Nest puts a text as the message into its JSON for exceptions.
    answersText: false,
    trustSetting:
      platform === "express"
        ? 'app.set("trust proxy", 1) of a NestExpressApplication for one proxy'
        : "new FastifyAdapter({ trustProxy: 1 }) for one proxy",
    start(limits, handler) {
      const [last, ...earlier] = limits.toReversed()
      return startNest(
        platform,
        {
          imports: [RateLimitModule.forRoot(last as NestRateLimitOptions)],
          controllers: [suiteController(platform, handler)],
        },
        async (app) => {
          // Limits of the platform run before those of Nest, and are shown with them.
          for (const options of earlier.reverse()) {
            if (platform === "express") app.use(expressRateLimit(options))
            else await (app as NestFastifyApplication).register(fastifyRateLimit as never, options as never)
          }
        },
      )
    },
  })
}

const EXACT = { window: "1h", algorithm: "sliding-window-log" } as const
const ONCE = { limit: 1, ...EXACT } as const

describe.each(["express", "fastify"] as const)("what only nest has, on %s", (platform) => {
  const apps: RunningApp[] = []
  afterEach(async () => {
    for (const app of apps.splice(0)) await app.close()
  })

  async function serve(options: NestRateLimitOptions, metadata: ModuleMetadata): Promise<string> {
    const imports = [RateLimitModule.forRoot(options), ...(metadata.imports ?? [])]
    return serveModule({ ...metadata, imports })
  }

  async function serveModule(metadata: ModuleMetadata): Promise<string> {
    const app = await startNest(platform, metadata)
    apps.push(app)
    return app.url
  }

  async function statuses(url: string, paths: readonly string[]): Promise<number[]> {
    const seen: number[] = []
    for (const path of paths) seen.push((await fetch(url + path)).status)
    return seen
  }

  /** Methods a, b and c that return their names, under `/items`. */
  function items(): Type {
    class Items {
      a(): string {
        return "a"
      }
      b(): string {
        return "b"
      }
      c(): string {
        return "c"
      }
    }
    return controller(Items, "items")
  }

  it("counts all handlers together with the application's limit", async () => {
    const url = await serve({ limit: 2, ...EXACT }, { controllers: [items()] })
    expect(await statuses(url, ["/items/a", "/items/b", "/items/a"])).toEqual([200, 200, 429])
  })

  it("counts a call once when the guard is also registered by hand", async () => {
    const Items = items()
    UseGuards(RateLimitGuard)(Items)
    decorate(Items, "b", UseGuards(RateLimitGuard))
    const url = await serve({ limit: 2, ...EXACT }, { controllers: [Items], providers: [GUARDED] })
    expect(await statuses(url, ["/items/a", "/items/b", "/items/a"])).toEqual([200, 200, 429])
  })

  it("guards nothing by itself with guard false", async () => {
    const options = { ...ONCE, guard: false }
    const Items = items()
    decorate(Items, "b", UseGuards(RateLimitGuard))
    for (const module of [
      RateLimitModule.forRoot(options),
      RateLimitModule.forRootAsync({ useFactory: async () => options }),
    ]) {
      const url = await serveModule({ imports: [module], controllers: [Items] })
      expect(await statuses(url, ["/items/a", "/items/a", "/items/b", "/items/b"])).toEqual([
        200, 200, 200, 429,
      ])
    }
  })

  it("counts a handler with its own limit separately, and does not limit a skipped one", async () => {
    const Items = items()
    decorate(Items, "a", RateLimit(ONCE))
    decorate(Items, "b", SkipRateLimit())
    const url = await serve({ limit: 2, ...EXACT }, { controllers: [Items] })
    expect(await statuses(url, ["/items/a", "/items/a"])).toEqual([200, 429])
    expect(await statuses(url, ["/items/c", "/items/c", "/items/c"])).toEqual([200, 200, 429])
    const skipped = await fetch(`${url}/items/b`)
    expect(skipped.status).toBe(200)
    expect(skipped.headers.has("ratelimit")).toBe(false)
  })

  it("counts the handlers of a class with a limit together, except those with their own", async () => {
    const Items = items()
    RateLimit({ limit: 2, ...EXACT })(Items)
    decorate(Items, "b", RateLimit(ONCE))
    decorate(Items, "c", SkipRateLimit())
    const url = await serve({ limit: 9, ...EXACT }, { controllers: [Items] })
    expect(await statuses(url, ["/items/a", "/items/b", "/items/a", "/items/a"])).toEqual([
      200, 200, 200, 429,
    ])
    expect(await statuses(url, ["/items/b", "/items/c"])).toEqual([429, 200])
  })

  it("limits a handler with its own limit in a skipped class", async () => {
    const Items = items()
    SkipRateLimit()(Items)
    decorate(Items, "a", RateLimit())
    const url = await serve(ONCE, { controllers: [Items] })
    expect(await statuses(url, ["/items/b", "/items/b", "/items/a", "/items/a"])).toEqual([
      200, 200, 200, 429,
    ])
  })

  it("counts inherited handlers of two classes separately, both with the limit of their base", async () => {
    class Base {
      list(): string {
        return "list"
      }
    }
    controller(Base, "base")
    decorate(Base, "list", RateLimit(ONCE))
    class Left extends Base {}
    class Right extends Base {}
    const url = await serve(
      { limit: 9, ...EXACT },
      { controllers: [controller(Left, "left"), controller(Right, "right")] },
    )
    expect(await statuses(url, ["/left/list", "/right/list", "/left/list"])).toEqual([200, 200, 429])
  })

  it("limits only handlers with a limit with global false", async () => {
    const Items = items()
    decorate(Items, "a", RateLimit(ONCE))
    const url = await serve({ global: false }, { controllers: [Items] })
    expect(await statuses(url, ["/items/a", "/items/a", "/items/b", "/items/b"])).toEqual([
      200, 429, 200, 200,
    ])
  })

  it("counts together across guards of several modules", async () => {
    const feature = (path: string): { module: Type; controllers: Type[] } => {
      class Feature {
        get(): string {
          return path
        }
      }
      UseGuards(RateLimitGuard)(Feature)
      class FeatureModule {}
      return { module: FeatureModule, controllers: [controller(Feature, path)] }
    }
    const url = await serve(
      { limit: 2, ...EXACT, guard: false },
      { imports: [feature("one"), feature("two")], controllers: [items()] },
    )
    expect(await statuses(url, ["/one/get", "/two/get", "/one/get", "/items/a"])).toEqual([
      200, 200, 429, 200,
    ])
  })

  it("takes async options from a factory or a class", async () => {
    const LIMIT = Symbol("limit")
    class SettingsModule {}
    const settings = {
      module: SettingsModule,
      providers: [{ provide: LIMIT, useValue: 1 }],
      exports: [LIMIT],
    }
    const useFactory = async (limit: number): Promise<NestRateLimitOptions> => ({ limit, ...EXACT })
    class Settings {
      createRateLimitOptions(): NestRateLimitOptions {
        return ONCE
      }
    }
    class Made {}
    const existing = { module: Made, providers: [Settings], exports: [Settings] }
    for (const asked of [
      { imports: [settings], inject: [LIMIT], useFactory },
      { useClass: Settings },
      { imports: [existing], useExisting: Settings },
    ]) {
      const url = await serveModule({
        imports: [RateLimitModule.forRootAsync(asked)],
        controllers: [items()],
      })
      expect(await statuses(url, ["/items/a", "/items/a"])).toEqual([200, 429])
    }
  })

  it("throws an exception that filters catch, with the decision", async () => {
    class Filter implements ExceptionFilter<RateLimitException> {
      catch(exception: RateLimitException, host: ExecutionContext): void {
        const { decision } = exception
        host.switchToHttp().getResponse<Response>().status(420).send({ deniedBy: decision.deniedBy })
      }
    }
    Catch(RateLimitException)(Filter)
    const url = await serve(
      { ...ONCE, name: "hourly" },
      { controllers: [items()], providers: [{ provide: APP_FILTER, useClass: Filter }] },
    )
    expect(await statuses(url, ["/items/a"])).toEqual([200])
    const denied = await fetch(`${url}/items/a`)
    expect(denied.status).toBe(420)
    expect(denied.headers.has("retry-after")).toBe(true)
    expect(await denied.json()).toEqual({ deniedBy: "hourly" })
  })

  it("sends application/problem+json for problems only", async () => {
    class Page implements ExceptionFilter<RateLimitException> {
      catch(_exception: RateLimitException, host: ExecutionContext): void {
        host.switchToHttp().getResponse<Response>().status(429).type("text/html").send("<p>slow down</p>")
      }
    }
    Catch(RateLimitException)(Page)
    const type = async (providers: NonNullable<ModuleMetadata["providers"]>): Promise<string | null> => {
      const url = await serve(ONCE, { controllers: [items()], providers })
      await fetch(`${url}/items/a`)
      return (await fetch(`${url}/items/a`)).headers.get("content-type")
    }
    expect(await type([])).toMatch(/^application\/problem\+json(; charset=utf-8)?$/)
    expect(await type([{ provide: APP_FILTER, useClass: Page }])).toMatch(/^text\/html/)
  })

  it("makes a text the message of Nest's body for errors", async () => {
    const url = await serve({ ...ONCE, body: "slow down" }, { controllers: [items()] })
    await fetch(`${url}/items/a`)
    const denied = await fetch(`${url}/items/a`)
    expect(denied.headers.get("content-type")).toMatch(/^application\/json/)
    expect(await denied.json()).toEqual({ statusCode: 429, message: "slow down" })
  })

  it("throws what onDenied returns, and the usual if it returns nothing", async () => {
    const Items = items()
    const seen: boolean[] = []
    decorate(Items, "a", RateLimit({ ...ONCE, onDenied: async () => new HttpException("teapot", 418) }))
    decorate(
      Items,
      "b",
      RateLimit({
        ...ONCE,
        onDenied(context, decision) {
          seen.push(context.getHandler().name === "b" && !decision.allowed)
        },
      }),
    )
    const url = await serve({ limit: 9, ...EXACT }, { controllers: [Items] })
    expect(await statuses(url, ["/items/a", "/items/a", "/items/b", "/items/b"])).toEqual([
      200, 418, 200, 429,
    ])
    expect(seen).toEqual([true])
  })

  it("accepts functions of the platform's own request type", async () => {
    const Items = items()
    decorate(Items, "a", RateLimit<Request>({ ...ONCE, key: (request) => String(request.query.user) }))
    const url = await serve({ global: false }, { controllers: [Items] })
    const paths = ["/items/a?user=1", "/items/a?user=2", "/items/a?user=1"]
    expect(await statuses(url, paths)).toEqual([200, 200, 429])
  })

  it("counts each route separately with keyBy route", async () => {
    const url = await serve({ ...ONCE, keyBy: "route" }, { controllers: [items()] })
    expect(await statuses(url, ["/items/a", "/items/b", "/items/a"])).toEqual([200, 200, 429])
  })

  it("lets a subclass override request, response and exception", async () => {
    class OwnGuard extends RateLimitGuard {
      protected override getRequest(context: ExecutionContext): object {
        const { headers } = context.switchToHttp().getRequest<NestRequest>()
        return { headers: { ...headers, "x-team": "all" } }
      }
      protected override getResponse(): undefined {
        return undefined
      }
      protected override denial(): Error {
        return new HttpException("team", 403)
      }
    }
    Injectable()(OwnGuard)
    const url = await serve(
      { ...ONCE, keyBy: "header:x-team" },
      { controllers: [items()], providers: [{ provide: APP_GUARD, useClass: OwnGuard }] },
    )
    const passed = await fetch(`${url}/items/a`)
    expect([passed.status, passed.headers.has("ratelimit")]).toEqual([200, false])
    expect(await statuses(url, ["/items/a"])).toEqual([403])
  })

  it("closes its own store with the application, and no given store", async () => {
    const given = memoryStore()
    const degraded: (string | undefined)[] = []
    for (const store of [undefined, given]) {
      let limits: NestLimits | undefined
      const Items = items()
      const options = store === undefined ? ONCE : { ...ONCE, store }
      const imports = [RateLimitModule.forRoot({ ...options, key: () => "me", onDecision: () => undefined })]
      const app = await startNest(platform, { imports, controllers: [Items] }, (made) => {
        limits = made.get<NestLimits>(LIMITS)
      })
      const limiter = limits?.of(Items, Items.prototype.a)?.limiter
      for (const step of ["open", "closed"]) {
        if (step === "closed") await app.close()
        degraded.push((await limiter?.admit({}))?.decision.degraded)
      }
    }
    expect(degraded).toEqual([undefined, "allow", undefined, undefined])
    await given.close()
  })

  it("refuses invalid options when the class is loaded or the application starts", async () => {
    expect(() => RateLimit({ limit: 0, window: "1m" })).toThrow(
      "rateLimit.limit: must be an integer ≥ 1, got 0",
    )
    expect(() => RateLimit({ widow: "1m" } as object)).toThrow("did you mean window?")
    expect(() => RateLimit({ limit: 5 })).toThrow("rateLimit.window: is required")
    for (const nothing of [{}, undefined as never]) {
      expect(() => RateLimitModule.forRootAsync(nothing)).toThrow(
        "needs one of useFactory, useClass and useExisting",
      )
    }
    await expect(serve({ limit: 0, window: "1m" }, {})).rejects.toThrow("rateLimit.limit")
    await expect(serve(undefined as never, {})).rejects.toMatchObject({ code: "OPTION_MISSING" })
    const onDenied = "no" as unknown as () => void
    await expect(serve({ ...ONCE, onDenied }, {})).rejects.toThrow("rateLimit.onDenied: must be a function")
    for (const name of ["global", "guard"]) {
      await expect(serve({ ...ONCE, [name]: "no" } as never, {})).rejects.toThrow(
        `rateLimit.${name}: must be true or false`,
      )
    }
  })
})
