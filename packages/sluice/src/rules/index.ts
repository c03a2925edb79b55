/**
 * Rules: limits that are named, matched to requests and changed while a service runs, instead of written into code.
 *
 * ```ts
 * import { createRuleEngine } from "sluice/rules"
 *
 * const engine = createRuleEngine({
 *   rules: `
 *     version: 1
 *     rules:
 *       - id: login
 *         match: { method: POST, path: /login }
 *         keyBy: ip
 *         limits: [{ limit: 5, window: 1m }]
 *   `,
 * })
 * const decision = await engine.check({ method: "POST", path: "/login", ip: "203.0.113.7" })
 * if (!decision.allowed) console.log(`try again in ${decision.retryAfterMs} ms`)
 * ```
 *
 * A rule set is an object, YAML or JSON. `fileRules`, `redisRules` and `objectRules` keep one with its revisions, and an
 * engine follows them: `createRuleEngine({ rules: await fileRules("rules.yaml") })`. docs/rules.md describes the language.
 *
 * @module
 */

export type { HeaderStyle } from "../header-style.js"
export type { HeaderSource } from "../request/header-source.js"
export type { ResponseReader, ResponseUsage } from "../usage/response-reader.js"
export type { BlockedRuleKey, BlockedRuleKeys } from "./engine/blocked-keys.js"
export { createRuleEngine, type RuleEngine } from "./engine/engine.js"
export type {
  DecisionEvent,
  KeyCheckOptions,
  RateLimitResult,
  RuleCheckOptions,
  RuleContext,
  RuleEngineOptions,
} from "./engine/engine-options.js"
export type { Explanation, RuleExplanation } from "./engine/explain.js"
export type { HoldCounts } from "./engine/hold-counts.js"
export type { RequestHold } from "./engine/holding.js"
export type { ReservedRuleDecision, RuleReserveOptions, SettledReservation } from "./engine/reservations.js"
export type { AnsweredRequest } from "./engine/response-charge.js"
export type { BegunRuleBlock, Mode, Reason, RuleDecision, RuleOutcome } from "./engine/rule-decision.js"
export type { LimitUsage } from "./engine/rule-keys.js"
export { hashApiKey } from "./identity/api-key.js"
export type { RuleRequest } from "./identity/rule-request.js"
export { type EnvoyImport, type EnvoyImportOptions, importEnvoyConfig } from "./import/envoy.js"
export type { ImportNote } from "./import/findings.js"
export type { GuardRails } from "./language/guard-rails.js"
export {
  checkRuleSet,
  type ParseOptions,
  parseRule,
  parseRuleSet,
  type RuleParseOptions,
} from "./language/parse.js"
export { type RuleProblem, RuleSetError } from "./language/rule-set-error.js"
export {
  type LimitSpec,
  type OverrideSpec,
  type ResponseSpec,
  type RuleSetDocument,
  type RuleSpec,
  ruleSetJsonSchema,
} from "./language/schema.js"
export { diffRuleSets, type RuleSetChanges } from "./sources/diff.js"
export { type FileRulesOptions, fileRules } from "./sources/file.js"
export { type ObjectRulesOptions, objectRules } from "./sources/object.js"
export { type RedisRulesOptions, redisRules } from "./sources/redis.js"
export type {
  EditableRuleSource,
  RevisionInfo,
  RuleSetRevision,
  RuleSource,
  RuleSourceEvent,
  RuleSourceHooks,
  RuleSourceWork,
  SaveOptions,
} from "./sources/source.js"
