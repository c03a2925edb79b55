export type { HeaderStyle } from "../http/headers.js"
export { comparedHost } from "../http/host.js"
export { hashApiKey } from "./api-key.js"
export { DecisionSlot } from "./decision-slot.js"
export { createRuleEngine, type RuleEngine } from "./engine.js"
export type {
  DecisionEvent,
  KeyCheckOptions,
  RateLimitResult,
  RuleCheckOptions,
  RuleContext,
  RuleEngineOptions,
} from "./engine-options.js"
export type { Explanation, RuleExplanation } from "./explain.js"
export type { GuardRails } from "./guard-rails.js"
export type { HeaderSource, RuleRequest } from "./identity.js"
export { type EnvoyImport, type EnvoyImportOptions, importEnvoyConfig } from "./import/envoy.js"
export type { ImportNote } from "./import/findings.js"
export { type HostPattern, parseHostPattern } from "./match/host-pattern.js"
export { checkRuleSet, type ParseOptions, parseRule, parseRuleSet, type RuleParseOptions } from "./parse.js"
export type { Mode, Reason, RuleDecision, RuleLimit, RuleOutcome } from "./rule-decision.js"
export { type RuleProblem, RuleSetError } from "./rule-set-error.js"
export {
  type LimitSpec,
  type OverrideSpec,
  type ResponseSpec,
  type RuleSetDocument,
  type RuleSpec,
  ruleSetJsonSchema,
} from "./schema.js"
export type { AnsweredRequest } from "./settlement.js"
export { diffRuleSets, type RuleSetChanges } from "./source/diff.js"
export { etagOf as ruleSetEtag } from "./source/etag.js"
export { type FileRulesOptions, fileRules } from "./source/file.js"
export { type ObjectRulesOptions, objectRules } from "./source/object.js"
export { type RedisRulesOptions, redisRules } from "./source/redis.js"
export type {
  EditableRuleSource,
  RevisionInfo,
  RuleSetRevision,
  RuleSource,
  RuleSourceEvent,
  RuleSourceHooks,
  RuleSourceWork,
  SaveOptions,
} from "./source/source.js"
export { readRevision } from "./source/stored-revision.js"
export { editRuleText } from "./source/yaml-edit.js"
export { formatRuleSet } from "./yaml-text.js"
