// The behaviour that all middlewares share, tested over real HTTP, in memory and on a real Redis.
//
// An adapter's test starts its application with `start` and calls `describeAdapter`; what only that framework has is
// tested beside it.

import { Redis } from "ioredis"
import { afterAll, afterEach, beforeAll, describe } from "vitest"
import { type RedisServer, startRedis } from "../../../../../test/support/redis/single.js"
import { memoryStore } from "../../stores/memory/memory-store.js"
import { redisStore } from "../../stores/redis/index.js"
import {
  HELLO,
  type Open,
  type RunningApp,
  type SuiteAnswer,
  type SuiteHandler,
  type SuiteOptions,
} from "./adapter-app.test-support.js"
import { describeClients } from "./adapter-suite-clients.test-support.js"
import { describeCredentials } from "./adapter-suite-credentials.test-support.js"
import { describeDecisions } from "./adapter-suite-decisions.test-support.js"
import { describeFailures } from "./adapter-suite-failures.test-support.js"
import { describeHeaders } from "./adapter-suite-headers.test-support.js"
import { describeHolding, describeHoldingInRealTime } from "./adapter-suite-holding.test-support.js"

export type { RunningApp, SuiteAnswer, SuiteHandler, SuiteOptions }

export interface AdapterCase {
  readonly name: string
  /**
   * Starts an application on loopback that puts each request through the limits, in order, and then answers what the
   * handler says. The handler gets the path and the decision as the framework's users find it.
   */
  start(limits: readonly SuiteOptions[], handler: SuiteHandler): Promise<RunningApp>
  /** Whether the framework notices a client that goes away. Default: true. */
  readonly seesAborts?: boolean
  /** Whether a denial can be plain text, and not only part of what the framework makes of errors. Default: true. */
  readonly answersText?: boolean
  /** Whether dots in a path are resolved before anybody sees it, as in a `Request`. Default: false. */
  readonly resolvesDots?: boolean
  /** The framework's own setting for an application behind a proxy, as warnings name it. */
  readonly trustSetting?: string
}

export function describeAdapter(adapter: AdapterCase): void {
  const { name, start, seesAborts = true, answersText = true, resolvesDots = false, trustSetting } = adapter
  const apps: RunningApp[] = []
  const open: Open = async (limits, handler = () => HELLO) => {
    const app = await start(Array.isArray(limits) ? limits : [limits], handler)
    apps.push(app)
    return app.url
  }
  afterEach(async () => {
    for (const app of apps.splice(0)) await app.close()
  })

  describe(`${name} on memory`, () => {
    describeDecisions(open, async () => memoryStore())
    describeHolding(open, seesAborts)
    describeClients(open, { answersText, resolvesDots, trustSetting })
    describeCredentials(open)
    describeHeaders(open)
  })

  describe(`${name} on Redis`, () => {
    let server: RedisServer
    let client: Redis
    beforeAll(async () => {
      server = await startRedis()
      client = new Redis(server.url)
    }, 30_000)
    afterAll(async () => {
      client?.disconnect()
      await server?.stop()
    })
    afterEach(async () => {
      await client.flushall()
    })
    // A long deadline: on a busy machine Redis answers late, and its decisions are tested here.
    const openStore = async () => redisStore(client, { deadline: "10s" })
    describeDecisions(open, openStore)
    describeHoldingInRealTime(open, openStore)
  })

  describe(`${name} without its store`, () => {
    describeFailures(open)
  })
}
