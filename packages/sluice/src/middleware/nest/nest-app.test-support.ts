// Nest applications without decorator syntax: the tests' compiler supports only standard decorators.

import "reflect-metadata"
import type { INestApplication, ModuleMetadata, Type } from "@nestjs/common"
import { Controller, Get } from "@nestjs/common"
import { NestFactory } from "@nestjs/core"
import { ExpressAdapter } from "@nestjs/platform-express"
import { FastifyAdapter } from "@nestjs/platform-fastify"
import type { RunningApp } from "../suite/adapter-suite.test-support.js"

export type Platform = "express" | "fastify"

/** What `@a @b method()` in a class does. */
export function decorate(target: Type, method: string, ...decorators: MethodDecorator[]): void {
  const descriptor = Object.getOwnPropertyDescriptor(target.prototype, method)
  if (descriptor === undefined) throw new Error(`${target.name} has no ${method}`)
  for (const decorator of decorators.reverse()) decorator(target.prototype, method, descriptor)
}

/** What `@Controller(path)` and `@Get()` on each of its methods do: `/path/method`. */
export function controller(target: Type, path: string): Type {
  Controller(path)(target)
  for (const method of Object.getOwnPropertyNames(target.prototype)) {
    if (method !== "constructor") decorate(target, method, Get(method))
  }
  return target
}

export async function startNest(
  platform: Platform,
  metadata: ModuleMetadata,
  prepare: (app: INestApplication) => unknown = () => undefined,
): Promise<RunningApp> {
  class AppModule {}
  const root = { module: AppModule, ...metadata }
  const adapter =
    platform === "express" ? new ExpressAdapter() : new FastifyAdapter({ forceCloseConnections: true })
  const app = await NestFactory.create(root, adapter, {
    logger: false,
    abortOnError: false,
    forceCloseConnections: true,
  })
  await prepare(app)
  await app.listen(0, "127.0.0.1")
  return { url: await app.getUrl(), close: () => app.close() }
}
