/** What the server and the command line need of the rules and users do not. It is not documented and may change in any release. */

export { comparedHost } from "../request/host.js"
export { type HostPattern, parseHostPattern } from "./language/host-pattern.js"
export {
  expectation,
  fieldsAt,
  type Issue,
  type Path,
  pathText,
  type SchemaNode,
  valueAt,
} from "./language/schema-issues.js"
export { formatRuleSet } from "./language/yaml-text.js"
export { etagOf as ruleSetEtag, readRevision } from "./sources/revision.js"
export { editRuleText } from "./sources/yaml-edit.js"
