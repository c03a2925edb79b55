import { expect, it, vi } from "vitest"
import { createRuleEngine } from "../../rules/index.js"
import type { RateLimitOptions } from "./rate-limit-options.js"
import { RequestLimiter } from "./request-limiter.js"
import type { RequestReader } from "./request-reader.js"

interface Call {
  readonly peer?: string
  readonly forwardedFor?: string
}

const reader: RequestReader<Call> = {
  method: () => "GET",
  target: () => "/",
  headers: ({ forwardedFor }) => ({ "x-forwarded-for": forwardedFor }),
  rawHeaders: () => undefined,
  peer: ({ peer }) => peer,
  addressAdvice: () => "ask the runtime",
}

/** The codes of the warnings that these requests cause. */
async function warningsFor(
  options: Partial<RateLimitOptions<Call>>,
  requests: readonly Call[],
  own: Partial<RequestReader<Call>> = {},
): Promise<string[]> {
  const messages: string[] = []
  const logger = { warn: (message: string) => void messages.push(message) }
  const limits = "engine" in options ? {} : { limit: 9, window: "1m" }
  const given = { ...limits, logger, ...options } as RateLimitOptions<Call>
  const limiter = new RequestLimiter(given, { ...reader, ...own })
  for (const request of requests) await limiter.admit(request)
  return messages.map((message) => /\[(\w+)\]$/.exec(message)?.[1] ?? message)
}

const forwarded = (): Call => ({ peer: "10.0.0.1", forwardedFor: "203.0.113.7" })

it("warns once of X-Forwarded-For while no proxy is trusted", async () => {
  expect(await warningsFor({}, [forwarded(), forwarded()])).toEqual(["FORWARDED_IGNORED"])
  expect(await warningsFor({ keyBy: ["method", "ip"] }, [forwarded()])).toEqual(["FORWARDED_IGNORED"])
  expect(await warningsFor({ key: () => undefined }, [forwarded()])).toEqual(["FORWARDED_IGNORED"])
})

it.each<[string, Partial<RateLimitOptions<Call>>, Partial<RequestReader<Call>>?]>([
  ["a proxy is trusted", { trustProxy: 1 }],
  ["the options say that there is none", { trustProxy: false }],
  ["the framework trusts a proxy", {}, { trustsProxy: () => true }],
  ["the address does not count", { keyBy: "global" }],
  ["the application makes the key", { key: () => "me" }],
])("does not warn of X-Forwarded-For when %s", async (_when, options, own) => {
  expect(await warningsFor(options, [forwarded()], own)).toEqual([])
})

it("warns of an engine whose rules count by an address that a proxy hides, or that is not known", async () => {
  const ruleSet = (keyBy: "ip" | "global") => ({
    version: 1 as const,
    rules: [{ id: "all", keyBy, limits: [{ limit: 9, window: "1m" }] }],
  })
  const byAddress = createRuleEngine({ rules: ruleSet("ip") })
  expect(await warningsFor({ engine: byAddress }, [forwarded()])).toEqual(["FORWARDED_IGNORED"])
  expect(await warningsFor({ engine: byAddress }, [{}])).toEqual(["ADDRESS_UNKNOWN"])
  const together = createRuleEngine({ rules: ruleSet("global") })
  expect(await warningsFor({ engine: together }, [forwarded(), {}])).toEqual([])
  await byAddress.close()
  await together.close()
})

it("warns once of clients without an address, and says how to make it known", async () => {
  const warn = vi.spyOn(process, "emitWarning").mockImplementation(() => undefined)
  const limiter = new RequestLimiter({ limit: 9, window: "1m" }, reader)
  await limiter.admit({})
  await limiter.admit({})
  expect(warn.mock.calls.map(([warning]) => String(warning))).toEqual([
    "SluiceError: rateLimit.ip: is needed: the client's address is not known here, so all clients share one counter; ask the runtime [ADDRESS_UNKNOWN]",
  ])
  warn.mockRestore()
})

it("warns once of a request that it charged twice", async () => {
  const [first, second] = [{ peer: "203.0.113.1" }, { peer: "203.0.113.1" }]
  expect(await warningsFor({}, [first, second])).toEqual([])
  expect(await warningsFor({}, [first, first, second, second])).toEqual(["COUNTED_TWICE"])
  expect(await warningsFor({}, [first, first], { mayRepeat: true })).toEqual([])
})

it("examines the first requests only, so that later ones pay nothing", async () => {
  const direct = Array.from({ length: 1_000 }, () => ({ peer: "203.0.113.1" }))
  expect(await warningsFor({ limit: 9_999, window: "1m" }, [...direct, forwarded()])).toEqual([])
})

it("survives a logger that throws", async () => {
  const warn = vi.spyOn(process, "emitWarning").mockImplementation(() => undefined)
  const logger = {
    warn(): void {
      throw new Error("thrown by a logger on purpose")
    },
  }
  expect(await warningsFor({ logger }, [forwarded()])).toEqual([])
  expect(warn).toHaveBeenCalledOnce()
  warn.mockRestore()
})
