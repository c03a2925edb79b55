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
