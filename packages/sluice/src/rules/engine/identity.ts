// Who is asking, and for what: a request as callers describe it, read only as far as the rules need.

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
import { type ApiKeyPlace, isCredential, shownQuery } from "../language/credential.js"
import type { RuleSetDocument } from "../language/schema.js"
import type { RequestFacts } from "../match/index.js"
import type { ApiKeyHasher } from "./api-key.js"
import type { Client } from "./client.js"
import type { Descriptor } from "./descriptor.js"
import { checkDescriptors, type RuleRequest, textField, wrongType } from "./rule-request.js"

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

/** One request, read piece by piece. Nothing is worked out before it is asked for, and then only once. */
export class Identity implements RequestFacts, Client {
  readonly #request: RuleRequest
  readonly #rules: IdentityRules
  readonly #hasher: ApiKeyHasher
  readonly method: string
  /** In its canonical form; empty where there is none. */
  readonly path: string = ""
  readonly query: string = ""
  /** Why the path cannot be brought into one form, if it cannot. */
  readonly badPath: string | undefined = undefined
  tier: string | undefined = undefined
  /**
   * What can be read in more than one way of all that was asked for since this was last cleared, as an instruction: `header
   * x-api-key must be given once`. Whoever asks looks here before it relies on what it got.
   */
  ambiguity: string | undefined = undefined
  #ip: string | undefined
  #ipKnown = false
  #apiKey: string | undefined
  #apiKeyAmbiguity: string | undefined
  #apiKeyKnown = false

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

  /** The host to count by. */
  get countedHost(): string | undefined {
    if (hasTwoHosts(this.#request.rawHeaders)) this.#unclear("header host", "given once")
    return filled(comparedHost(this.host))
  }

  get route(): string | undefined {
    return textField(this.#request.route, "route")
  }

  /** The address of the client, through trusted proxies. */
  get ip(): string | undefined {
    if (!this.#ipKnown) {
      const { trusted } = this.#rules
      const peer = textField(this.#request.ip, "ip")
      this.#ip = clientIpFrom(peer, (name) => this.#joined(name), trusted)
      this.#ipKnown = true
    }
    return this.#ip
  }

  /** Who the address is counted as. */
  get ipKey(): string | undefined {
    const { ip } = this
    return ip === undefined ? undefined : ipKey(ip, this.#rules.ipv6Subnet)
  }

  /** The key of a rule that counts by address alone. */
  get addressKey(): string | undefined {
    const { trusted, addressKeys } = this.#rules
    // With no proxies in between, the client is whoever is connected.
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

  /** The tier a trusted proxy says. */
  get proxyTier(): string | undefined {
    return this.trustedHeader(this.#rules.tierHeader)
  }

  /** A header that only a trusted proxy can have written. */
  trustedHeader(name: string | undefined): string | undefined {
    if (name === undefined || !this.isFromProxy) return undefined
    return this.#once(name)
  }

  get isFromProxy(): boolean {
    const { trusted } = this.#rules
    return trusted.any && trusted.trusts(canonicalIp(textField(this.#request.ip, "ip") ?? "") ?? "", 0)
  }

  /** What rules match: of a header that came more than once, each of its values. */
  header(name: string): string | readonly string[] | undefined {
    return headerValues(this.#request.headers, this.#request.rawHeaders, name)
  }

  /** A header or query parameter to count by: of a credential, its keyed hash. */
  counted(part: "header" | "query", name: string): string | undefined {
    const value = part === "header" ? this.#once(name) : this.#queryOnce(name)
    return value !== undefined && this.isCredential(part, name) ? this.#hasher.hash(value) : value
  }

  /** A cookie to count by. */
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

  /** The query without the API key. */
  get shownQuery(): string {
    return shownQuery(this.query, this.#rules)
  }

  #joined(name: string): string | undefined {
    return headerOf(this.#request.headers, name)
  }

  /** The value of a header that must be there once, in its one form. */
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
    // An application looks in one of the two places first, and which one is not known here.
    if (key !== undefined)
      this.#unclear("the API key", `in header ${apiKeyHeader} or in the query, not in both`)
    return this.#clear(tokenForm(inQuery), `query parameter ${apiKeyQuery}`)
  }

  /** The form of a value; one that is empty is missing. */
  #clear(form: Form | undefined, what: string): string | undefined {
    if (form !== UNCLEAR) return filled(form)
    this.#unclear(what, "given once and in one spelling")
    return undefined
  }

  #unclear(what: string, must: string): void {
    this.ambiguity ??= `${what} must be ${must}`
  }
}

function filled(value: string | undefined): string | undefined {
  return value === "" ? undefined : value
}
