export { keepTicksQuick } from "../quick-ticks.js"
export {
  type AcceptedPath,
  type CanonicalPath,
  type CanonicalPathOptions,
  canonicalPath,
  type PathRefusal,
  pathRefusals,
  type RefusedPath,
} from "./canonical-path.js"
export { type CidrList, checkIpv6Subnet, compileCidrs, ipKey } from "./cidr.js"
export {
  clientIp,
  type ForwardedFacts,
  type ForwardedHeaders,
  type ForwardedSource,
  forwardedFacts,
} from "./client-ip.js"
export { deniedAnswer } from "./denied-answer.js"
export { type HeaderLines, headerLines } from "./header-lines.js"
export {
  type HeaderDecision,
  type HeaderLimit,
  type HeaderOptions,
  type HeaderPolicy,
  type HeaderStyle,
  type HeaderWriter,
  headerWriter,
  type SetHeader,
} from "./headers.js"
export { HoldingRoom } from "./holding-room.js"
export type { DeniedAnswer } from "./passage.js"
export {
  type Denial,
  type DenialOptions,
  type DenialProblem,
  denialProblem,
  errorProblem,
  PROBLEM_CONTENT_TYPE,
  type Problem,
  problemBody,
  problemOf,
} from "./problem.js"
export { headerList } from "./shown-headers.js"
export {
  compileTrustProxy,
  noProxies,
  type ProxyHeader,
  type TrustedProxies,
  type TrustProxy,
  type TrustProxyOptions,
} from "./trust-proxy.js"
