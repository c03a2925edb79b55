/** What the sibling packages need from the rules and users do not. It is not documented, and it may change in any release. */

export { comparedHost } from "../request/host.js"
export { type HostPattern, parseHostPattern } from "./language/host-pattern.js"
export { formatRuleSet } from "./language/yaml-text.js"
export { etagOf as ruleSetEtag } from "./sources/etag.js"
export { readRevision } from "./sources/stored-revision.js"
export { editRuleText } from "./sources/yaml-edit.js"
