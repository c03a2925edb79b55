// Where each option of the library is set in the service. The types make the compiler refuse an option that is not listed.

import type { LimiterOptions, MemoryStoreOptions } from "sluice"
import type { BreakerSettings, ConnectRedisOptions } from "sluice/redis"
import type {
  FileRulesOptions,
  GuardRails,
  ObjectRulesOptions,
  RedisRulesOptions,
  RuleEngineOptions,
} from "sluice/rules"

/** The setting that the option gets its value from, or the reason why there is none. */
export type OptionPlace = { readonly setting: string } | { readonly reason: string }

type Places<Options> = Readonly<Record<keyof Options, OptionPlace>>

const setting = (path: string): OptionPlace => ({ setting: path })
const reason = (text: string): OptionPlace => ({ reason: text })

const clock = reason(
  "for tests: the service uses the clock of the machine or, with store.time, that of Redis",
)
const onEvent = reason("the service writes events of the rules to its log")
const work = reason("the service reads large rule sets in a thread")
const perLimit = reason("part of a limit, in the rules")

const source = {
  guardRails: setting("rules.guardRails"),
  history: setting("rules.history"),
  clock,
  onEvent,
}

const redisStore: Places<ConnectRedisOptions> = {
  deadline: setting("store.deadline"),
  time: setting("store.time"),
  clock,
  expiryBuffer: setting("store.expiryBuffer"),
  minExpiry: setting("store.minExpiry"),
  denyCache: setting("store.denyCache"),
  heartbeat: setting("store.heartbeat"),
  breaker: setting("store.breaker"),
  connectTimeout: setting("store.connectTimeout"),
  socketTimeout: setting("store.socketTimeout"),
  maxReconnectDelay: setting("store.maxReconnectDelay"),
  onFailure: reason("the service counts failures in its metrics and writes them to its log"),
}

const breaker: Places<BreakerSettings> = {
  failures: setting("store.breaker.failures"),
  failureRate: setting("store.breaker.failureRate"),
  probeEvery: setting("store.breaker.probeEvery"),
}

const memoryStore: Places<MemoryStoreOptions> = {
  maxKeys: setting("store.maxKeys"),
  onFull: setting("store.onFull"),
  snapshot: setting("store.snapshot"),
  onWarning: reason("the service writes warnings to its log"),
  clock,
}

const limiter: Places<LimiterOptions> = {
  store: setting("store.url"),
  prefix: setting("prefix"),
  clock,
  onStoreFailure: reason("part of a rule, or of the defaults of the rules"),
  logger: reason("the service writes warnings to its log"),
  limits: reason("part of a rule"),
  name: perLimit,
  limit: perLimit,
  window: perLimit,
  algorithm: perLimit,
  burst: perLimit,
  maxBurst: perLimit,
  buckets: perLimit,
  anchor: perLimit,
  timeZone: perLimit,
  penalty: perLimit,
  overflow: perLimit,
  hold: perLimit,
  leases: reason("part of a rule, or of the defaults of the rules"),
}

const ruleEngine: Places<RuleEngineOptions> = {
  rules: setting("rules.inline"),
  store: setting("store.url"),
  prefix: setting("prefix"),
  secret: setting("secret"),
  guardRails: setting("rules.guardRails"),
  clock,
  tierOf: reason("a function: the rules find the tier by header or by list"),
  onDecision: reason("the service counts decisions in its metrics and sends them to its live events"),
  onRefused: reason("the service writes refused rules to its log"),
}

const fileRules: Places<FileRulesOptions> = {
  ...source,
  historyFile: setting("rules.historyFile"),
  poll: setting("rules.poll"),
  work,
}

const redisRules: Places<RedisRulesOptions> = {
  ...source,
  name: setting("rules.redis.name"),
  initial: reason("the service copies rules.file or rules.inline to an empty Redis"),
  lastGood: setting("rules.redis.lastGood"),
  poll: setting("rules.poll"),
  deadline: setting("rules.redis.deadline"),
  work,
}

const guardRails: Places<GuardRails> = {
  maxRules: setting("rules.guardRails.maxRules"),
  maxLimits: setting("rules.guardRails.maxLimits"),
  minWindow: setting("rules.guardRails.minWindow"),
  maxWindow: setting("rules.guardRails.maxWindow"),
  minLimit: setting("rules.guardRails.minLimit"),
  maxLimit: setting("rules.guardRails.maxLimit"),
  maxClients: setting("rules.guardRails.maxClients"),
  maxBytes: setting("rules.guardRails.maxBytes"),
}

/** The options by the function that takes them, or by the option that they are part of. */
export const LIBRARY_OPTIONS: Readonly<Record<string, Readonly<Record<string, OptionPlace>>>> = {
  connectRedis: redisStore,
  "connectRedis.breaker": breaker,
  memoryStore,
  createLimiter: limiter,
  createRuleEngine: ruleEngine,
  fileRules,
  redisRules,
  objectRules: source satisfies Places<ObjectRulesOptions>,
  guardRails,
}
