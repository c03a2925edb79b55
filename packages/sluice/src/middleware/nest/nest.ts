import {
  type DynamicModule,
  type FactoryProvider,
  type ModuleMetadata,
  type Provider,
  SetMetadata,
  type Type,
} from "@nestjs/common"
import { APP_GUARD } from "@nestjs/core"
import { SluiceError } from "../../errors.js"
import { LIMIT_FIELDS } from "../../policy.js"
import { checkRateLimitOptions, limiterOf, type RateLimitOptions } from "../core/rate-limit-options.js"
import type { RouteLimitOptions } from "../core/route-limits.js"
import { type OnDenied, RateLimitGuard } from "./nest-guard.js"
import { ADAPTER_FIELDS, LIMITS, NestLimits, type NestRequest, OPTIONS_KEY } from "./nest-limits.js"

export type { DeniedAnswer } from "../core/denied-answer.js"
export type { DecisionEvent, RateLimitOptions, RequestDecision } from "../core/rate-limit-options.js"
export {
  type SluiceThrottlerStorage,
  type ThrottlerStorageOptions,
  throttlerStorage,
} from "../stores/throttler-storage.js"
export { RateLimitException, RateLimitGuard } from "./nest-guard.js"
export type { NestRequest } from "./nest-limits.js"

interface DeniedOptions {
  /** Returns what to throw for a denied request. The headers are already set. */
  onDenied?: OnDenied
}

/** The options of `@RateLimit`. */
export type NestRouteLimitOptions<Request extends object = NestRequest> = RouteLimitOptions<Request> &
  DeniedOptions

interface GuardOptions {
  /**
   * Whether the module guards all handlers. With false, handlers are limited where you register `RateLimitGuard`, or a
   * subclass, yourself. Default: true.
   */
  guard?: boolean
}

export type NestRateLimitOptions<Request extends object = NestRequest> =
  | (RateLimitOptions<Request> & DeniedOptions & GuardOptions & { global?: true })
  /** Only handlers and classes with `@RateLimit` are limited. */
  | (NestRouteLimitOptions<Request> & GuardOptions & { global: false })

/** A class that provides the options, for `useClass` and `useExisting`. */
export interface RateLimitOptionsFactory<Request extends object = NestRequest> {
  createRateLimitOptions(): NestRateLimitOptions<Request> | Promise<NestRateLimitOptions<Request>>
}

/** One of `useFactory`, `useClass` and `useExisting`. */
export interface RateLimitAsyncOptions<Request extends object = NestRequest>
  extends Pick<ModuleMetadata, "imports"> {
  useFactory?: (
    ...dependencies: never[]
  ) => NestRateLimitOptions<Request> | Promise<NestRateLimitOptions<Request>>
  inject?: NonNullable<FactoryProvider["inject"]>
  useClass?: Type<RateLimitOptionsFactory<Request>>
  useExisting?: Type<RateLimitOptionsFactory<Request>>
}

const OPTIONS = Symbol.for("sluice.nest-options")

/** Limits all handlers: `imports: [RateLimitModule.forRoot({ limit: 100, window: "1m" })]`, once, in the root module. */
// biome-ignore lint/complexity/noStaticOnlyClass: Nest knows a module by its class.
export class RateLimitModule {
  static forRoot<Request extends object = NestRequest>(
    options: NestRateLimitOptions<Request>,
  ): DynamicModule {
    // A factory instead of a value: Nest 10 serializes values, with the whole store in them, to tell modules apart.
    return moduleOf([{ provide: OPTIONS, useFactory: () => options }], [])
  }

  static forRootAsync<Request extends object = NestRequest>(
    options: RateLimitAsyncOptions<Request>,
  ): DynamicModule {
    return moduleOf(optionsProviders(options ?? {}), options?.imports ?? [])
  }
}

/** A limit for a handler, or for all handlers of a class together, instead of the application's. Other options are inherited. */
export function RateLimit<Request extends object = NestRequest>(
  options: NestRouteLimitOptions<Request> = {},
): ClassDecorator & MethodDecorator {
  // Reports invalid options when the class is loaded, as far as they show without the application's options.
  const checked = checkRateLimitOptions(options as RateLimitOptions<Request>, ADAPTER_FIELDS)
  const isWhole = [...LIMIT_FIELDS, "limits"].some((field) => Object.hasOwn(options, field))
  if (isWhole) void limiterOf(checked).close()
  return SetMetadata(OPTIONS_KEY, options)
}

/** Turns the limit off for a handler, or for the handlers of a class that have none of their own. */
export function SkipRateLimit(): ClassDecorator & MethodDecorator {
  return SetMetadata(OPTIONS_KEY, false)
}

/** The module is global, because Nest creates guards in the modules that use them. */
function moduleOf(
  options: Provider[],
  imports: NonNullable<RateLimitAsyncOptions["imports"]>,
): DynamicModule {
  const limits: Provider = {
    provide: LIMITS,
    useFactory: (given: object) => new NestLimits(given),
    inject: [OPTIONS],
  }
  // Always provided: async options say only later whether the module guards.
  const guard: Provider = {
    provide: APP_GUARD,
    useFactory: (made: NestLimits) =>
      made.isGuarding ? new RateLimitGuard(made) : { canActivate: () => true },
    inject: [LIMITS],
  }
  return {
    module: RateLimitModule,
    global: true,
    imports,
    providers: [...options, limits, guard, RateLimitGuard],
    exports: [LIMITS, RateLimitGuard],
  }
}

function optionsProviders<Request extends object>(options: RateLimitAsyncOptions<Request>): Provider[] {
  const { inject = [], useClass, useExisting, useFactory } = options
  if (useFactory !== undefined) {
    return [{ provide: OPTIONS, useFactory: useFactory as FactoryProvider["useFactory"], inject }]
  }
  const from = useExisting ?? useClass
  if (from === undefined) {
    throw new SluiceError("OPTION_MISSING", {
      place: "RateLimitModule.forRootAsync",
      expected: "needs one of useFactory, useClass and useExisting",
    })
  }
  const make: Provider = {
    provide: OPTIONS,
    useFactory: (factory: RateLimitOptionsFactory<Request>) => factory.createRateLimitOptions(),
    inject: [from],
  }
  return useClass === undefined ? [make] : [make, useClass]
}
