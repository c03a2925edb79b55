// Warnings about limits that count something else than their author thinks. Each middleware gives each warning once.

import { type ErrorCode, SluiceError } from "../../errors.js"
import { type Logger, warn } from "../../notify.js"
import { headerOf } from "../../request/header-source.js"
import type { RequestDecision } from "./rate-limit-options.js"
import { type ClientAddress, ipOf } from "./request-key.js"

/** How many requests of a middleware are examined. What the warnings are about shows early, and later requests pay nothing. */
const EXAMINED_REQUESTS = 1_000

const BY_ADDRESS = /(?:^|,)ip:/

/** Examines the first requests of a middleware for mistakes that no option shows. */
export class RequestWarnings<Request extends object> {
  readonly #address: ClientAddress<Request>
  readonly #logger: Logger | undefined
  readonly #counted = new WeakSet<Request>()
  readonly #given = new Set<ErrorCode>()
  #remaining = EXAMINED_REQUESTS

  constructor(address: ClientAddress<Request>, logger: Logger | undefined) {
    this.#address = address
    this.#logger = logger
  }

  /** Call it once for each decision about a request. */
  examine(request: Request, decision: RequestDecision, key: string | undefined): void {
    if (this.#remaining === 0) return
    this.#remaining--
    this.#examineCount(request)
    if (isByAddress(decision, key)) this.#examineAddress(request)
  }

  #examineCount(request: Request): void {
    if (!this.#counted.has(request)) this.#counted.add(request)
    else if (this.#address.reader.mayRepeat !== true) {
      this.#give(
        "COUNTED_TWICE",
        "rateLimit",
        "charged one request twice: the same middleware is mounted twice on its path; mount it once, or create a second middleware for a second limit",
      )
    }
  }

  #examineAddress(request: Request): void {
    const { reader, trusted } = this.#address
    const setting = trusted === undefined ? reader.trustMistake?.(request) : undefined
    if (setting !== undefined) {
      this.#give(
        "TRUST_PROXY_INVALID",
        setting,
        "lets any client choose the address that it is counted by; set the number of proxies or their addresses",
      )
    }
    const advice = ipOf(this.#address, request) === undefined ? reader.addressAdvice?.(request) : undefined
    if (advice !== undefined) {
      const expected = `is needed: the client's address is not known here, so all clients share one counter; ${advice}`
      this.#give("ADDRESS_UNKNOWN", "rateLimit.ip", expected)
    } else if (
      trusted === undefined &&
      reader.trustsProxy?.(request) !== true &&
      headerOf(reader.headers(request), "x-forwarded-for") !== undefined
    ) {
      const own = reader.trustSetting?.(request)
      const instead = own === undefined ? "" : `; or use the setting of the framework, ${own}`
      this.#give(
        "FORWARDED_IGNORED",
        "rateLimit.trustProxy",
        `should be set: a request has X-Forwarded-For, and behind a proxy all clients share the proxy's counter; give the number of proxies in front of the application, such as 1, or false if there is none${instead}`,
      )
    }
  }

  #give(code: ErrorCode, place: string, expected: string): void {
    if (this.#given.has(code)) return
    this.#given.add(code)
    warn(new SluiceError(code, { place, expected }), this.#logger)
  }
}

/** Whether a request was counted by its address, or denied because it has none. */
function isByAddress(decision: RequestDecision, key: string | undefined): boolean {
  if (!("reason" in decision)) return key !== undefined && BY_ADDRESS.test(key)
  return decision.reason === "missing-key" || decision.rules.some((rule) => BY_ADDRESS.test(rule.key))
}
