export { type HostPattern, parseHostPattern } from "./host-pattern.js"
export {
  type Matched,
  type MatchReason,
  type MatchSpec,
  type OneOrMore,
  type RequestFacts,
  routeOf,
  type ValueSpecs,
} from "./match-spec.js"
export { compileMatcher, type Matcher, matcherSteps } from "./matcher.js"
export { type PathPattern, parsePathPattern } from "./path-pattern.js"
export { readQuery } from "./query.js"
export { parseValuePattern, type ValuePattern } from "./value-pattern.js"
