// A request as rules see it: who sends it, and what it asks for. Values are read only when a rule needs them.

import { wrongType } from "../../options.js"
import { clientIpFrom } from "../../request/address/client-ip.js"
import { canonicalIp } from "../../request/address/ip-address.js"
import { AddressKeys, ipKey } from "../../request/address/ip-key.js"
import { compileTrustProxy, noProxies, type TrustedProxies } from "../../request/address/trust-proxy.js"
import {
  apiKeyForm,
  cookieForm,
  type Form,
  headerForm,
  queryForm,
  tokenForm,
  UNCLEAR,
} from "../../request/credential-form.js"
import { hasCopies, headerOf, headerValues } from "../../request/header-source.js"
import { comparedHost, hasTwoHosts } from "../../request/host.js"
import { canonicalPath, isCanonicalPath } from "../../request/path.js"
import { type RequestBody, requestBody } from "../../usage/body-cost.js"
import { type ApiKeyPlace, isCredential, shownQuery } from "../language/credential.js"
import type { RuleSetDocument } from "../language/schema.js"
import type { RequestFacts } from "../match/index.js"
import type { ApiKeyHasher } from "./api-key.js"
import type { Client } from "./client.js"
import type { Descriptor } from "./descriptor.js"
import { checkDescriptors, type RuleRequest, textField } from "./rule-request.js"

/** How a rule set tells clients apart: its `identity`, compiled. */
export interface IdentityRules extends ApiKeyPlace {
  readonly trusted: TrustedProxies
  readonly ipv6Subnet: number
  readonly addressKeys: AddressKeys
  readonly userHeader: string | undefined
  readonly tierHeader: string | undefined
  readonly encodedSlashes: "refuse" | "keep"
}

export function compileIdentity(identity: NonNullable<RuleSetDocument["identity"]> = {}): IdentityRules {
  const { trustedProxies = [], apiKey, ipv6Subnet = 64 } = identity
  return {
    trusted:
      trustedProxies.length === 0
        ? noProxies
        : compileTrustProxy(trustedProxies, {
            header: identity.forwardedBy,
            place: "identity.trustedProxies",
          }),
    ipv6Subnet,
    addressKeys: new AddressKeys(ipv6Subnet),
    userHeader: identity.user?.header.toLowerCase(),
    apiKeyHeader: (apiKey === undefined ? "x-api-key" : apiKey.header)?.toLowerCase(),
    apiKeyQuery: apiKey?.query,
    tierHeader: identity.tier?.header.toLowerCase(),
    encodedSlashes: identity.encodedSlashes ?? "refuse",
  }
}

/** One request. Each value is computed when it is first read, and only once. */
export class Identity implements RequestFacts, Client {
  readonly #request: RuleRequest
  readonly #rules: IdentityRules
  readonly #hasher: ApiKeyHasher
  readonly method: string
  /** The canonical path; empty if the request has none. */
  readonly path: string = ""
  readonly query: string = ""
  /** Why the path has no canonical form, if it has none. */
  readonly badPath: string | undefined = undefined
  tier: string | undefined = undefined
  /**
   * Set when a value that was read since this was last cleared is ambiguous. It says what must change: `header x-api-key must
   * be given once`. A caller that reads a value must check this before it uses the value.
   */
  ambiguity: string | undefined = undefined
  #ip: string | undefined
  #ipKnown = false
  #apiKey: string | undefined
  #apiKeyAmbiguity: string | undefined
  #apiKeyKnown = false
  #body: RequestBody | undefined

  constructor(request: RuleRequest, rules: IdentityRules, hasher: ApiKeyHasher) {
    this.#request = request
    this.#rules = rules
    this.#hasher = hasher
    if (typeof request !== "object" || request === null) throw wrongType("request", "an object", request)
    this.method = textField(request.method, "method") ?? ""
    checkDescriptors(request.descriptors)
    const path = textField(request.path, "path")
    if (path === undefined) return
    if (isCanonicalPath(path)) {
      this.path = path
      return
    }
    const { encodedSlashes } = rules
    const target = canonicalPath(path, { encodedSlashes, dotSegments: request.dotSegments })
    if (target.ok) {
      this.path = target.path
      this.query = target.query
    } else this.badPath = target.reason
  }

  get host(): string {
    return textField(this.#request.host, "host") ?? this.#joined("host") ?? ""
  }

  /** The host as a key. */
  get countedHost(): string | undefined {
    if (hasTwoHosts(this.#request.rawHeaders)) this.#unclear("header host", "given once")
    return filled(comparedHost(this.host))
  }

  get body(): RequestBody {
    if (this.#body === undefined) {
      const length = this.#joined("content-length")
      const declared = length !== undefined && /^\d{1,15}$/.test(length) ? Number(length) : undefined
      const isPresent = (declared ?? 0) > 0 || this.#joined("transfer-encoding") !== undefined
      this.#body = requestBody(this.#request.body, declared, isPresent)
    }
    return this.#body
  }

  get route(): string | undefined {
    return textField(this.#request.route, "route")
  }

  /** The address of the client, seen through trusted proxies. */
  get ip(): string | undefined {
    if (!this.#ipKnown) {
      const { trusted } = this.#rules
      const peer = textField(this.#request.ip, "ip")
      this.#ip = clientIpFrom(peer, (name) => this.#joined(name), trusted)
      this.#ipKnown = true
    }
    return this.#ip
  }

  /** The address as a key: the subnet for IPv6. */
  get ipKey(): string | undefined {
    const { ip } = this
    return ip === undefined ? undefined : ipKey(ip, this.#rules.ipv6Subnet)
  }

  /** The key of a rule that counts by address alone. */
  get addressKey(): string | undefined {
    const { trusted, addressKeys } = this.#rules
    // Without trusted proxies, the client is the peer.
    const ip = trusted.any ? this.ip : textField(this.#request.ip, "ip")
    return ip === undefined ? undefined : addressKeys.of(ip)
  }

  get user(): string | undefined {
    return filled(textField(this.#request.user, "user")) ?? this.trustedHeader(this.#rules.userHeader)
  }

  /** The keyed hash of the API key. */
  get apiKey(): string | undefined {
    if (!this.#apiKeyKnown) {
      const before = this.ambiguity
      this.ambiguity = undefined
      const key = filled(textField(this.#request.apiKey, "apiKey")) ?? this.#givenApiKey()
      this.#apiKeyAmbiguity = this.ambiguity
      this.ambiguity = before
      this.#apiKey = key === undefined ? undefined : this.#hasher.hash(key)
      this.#apiKeyKnown = true
    }
    this.ambiguity ??= this.#apiKeyAmbiguity
    return this.#apiKey
  }

  get domain(): string {
    return textField(this.#request.domain, "domain") ?? ""
  }

  get descriptors(): readonly Descriptor[] | undefined {
    return this.#request.descriptors
  }

  get client(): string | undefined {
    return filled(textField(this.#request.client, "client"))
  }

  get givenTier(): string | undefined {
    return textField(this.#request.tier, "tier")
  }

  /** The tier that a trusted proxy names. */
  get proxyTier(): string | undefined {
    return this.trustedHeader(this.#rules.tierHeader)
  }

  /** A header that is read only from a trusted proxy. */
  trustedHeader(name: string | undefined): string | undefined {
    if (name === undefined || !this.isFromProxy) return undefined
    return this.#once(name)
  }

  get isFromProxy(): boolean {
    const { trusted } = this.#rules
    return trusted.any && trusted.trusts(canonicalIp(textField(this.#request.ip, "ip") ?? "") ?? "", 0)
  }

  /** A header for matching. A header that occurs more than once has several values. */
  header(name: string): string | readonly string[] | undefined {
    return headerValues(this.#request.headers, this.#request.rawHeaders, name)
  }

  /** A header or query parameter as a key. A credential is hashed. */
  counted(part: "header" | "query", name: string): string | undefined {
    const value = part === "header" ? this.#once(name) : this.#queryOnce(name)
    return value !== undefined && this.isCredential(part, name) ? this.#hasher.hash(value) : value
  }

  /** A cookie as a key. */
  cookie(name: string): string | undefined {
    const { headers, rawHeaders } = this.#request
    const cookies = headerOf(headers, "cookie")
    if (cookies === undefined) return undefined
    const areKnown = rawHeaders !== undefined && rawHeaders.length > 0
    const form = cookieForm(cookies, name, areKnown ? ";" : ";,")
    return this.#clear(form, `cookie ${name}`)
  }

  isCredential(part: string, name: string | undefined): boolean {
    return isCredential(this.#rules, part, name)
  }

  /** The query with the API key masked. */
  get shownQuery(): string {
    return shownQuery(this.query, this.#rules)
  }

  #joined(name: string): string | undefined {
    return headerOf(this.#request.headers, name)
  }

  /** The normalized value of a header that must occur only once. */
  #once(name: string): string | undefined {
    const value = this.#headerOnce(name)
    if (value === undefined) return undefined
    return this.#clear(headerForm(name, value), `header ${name}`)
  }

  #headerOnce(name: string): string | undefined {
    const { headers, rawHeaders } = this.#request
    if (!hasCopies(headers, rawHeaders, name)) return this.#joined(name)
    this.#unclear(`header ${name}`, "given once")
    return undefined
  }

  #queryOnce(name: string): string | undefined {
    return this.query === "" ? undefined : this.#clear(queryForm(this.query, name), `query parameter ${name}`)
  }

  #givenApiKey(): string | undefined {
    const { apiKeyHeader, apiKeyQuery } = this.#rules
    const header = apiKeyHeader === undefined ? undefined : this.#headerOnce(apiKeyHeader)
    const key = header === undefined ? undefined : this.#clear(apiKeyForm(header), `header ${apiKeyHeader}`)
    if (apiKeyQuery === undefined) return key
    const inQuery = this.#queryOnce(apiKeyQuery)
    if (inQuery === undefined) return key
    // An application reads one of the two places first, and the engine does not know which.
    if (key !== undefined)
      this.#unclear("the API key", `in header ${apiKeyHeader} or in the query, not in both`)
    return this.#clear(tokenForm(inQuery), `query parameter ${apiKeyQuery}`)
  }

  /** A normalized value. An empty value counts as missing. */
  #clear(form: Form | undefined, what: string): string | undefined {
    if (form !== UNCLEAR) return filled(form)
    this.#unclear(what, "given once and in one spelling")
    return undefined
  }

  #unclear(what: string, must: string): void {
    this.ambiguity ??= `${what} must be ${must}`
  }
}

/** The value, or undefined if it is empty. */
export function filled(value: string | undefined): string | undefined {
  return value === "" ? undefined : value
}
