export type { HeaderPolicy, HeaderStyle } from "./header-style.js"
export type { DeniedAnswer } from "./middleware/core/denied-answer.js"
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
} from "./middleware/core/problem.js"
export {
  type HeaderDecision,
  type HeaderLimit,
  type HeaderOptions,
  type HeaderWriter,
  headerWriter,
  type SetHeader,
} from "./middleware/headers/headers.js"
export { type CidrList, compileCidrs } from "./request/address/cidr.js"
export {
  clientIp,
  type ForwardedFacts,
  type ForwardedHeaders,
  type ForwardedSource,
  forwardedFacts,
} from "./request/address/client-ip.js"
export { checkIpv6Subnet, ipKey } from "./request/address/ip-key.js"
export {
  compileTrustProxy,
  type ProxyHeader,
  type TrustedProxies,
  type TrustProxy,
  type TrustProxyOptions,
} from "./request/address/trust-proxy.js"
export {
  type AcceptedPath,
  type CanonicalPath,
  type CanonicalPathOptions,
  canonicalPath,
  type PathRefusal,
  pathRefusals,
  type RefusedPath,
} from "./request/path.js"
