import type { IncomingMessage } from "node:http"
import { type Clock, SluiceError } from "sluice"
import { checkLocal, checkOrigin } from "../http/origin.js"
import { TokenGuard } from "../http/token-guard.js"
import { type Actor, mayAct, type Role, type RoleTokenSpec } from "./roles.js"

/** Tells who asks, and whether it may. */
export class Access {
  readonly #tokens: TokenGuard<RoleTokenSpec>

  constructor(tokens: readonly RoleTokenSpec[], clock?: Clock) {
    this.#tokens = new TokenGuard(tokens, "control.tokens", clock)
  }

  /** What anybody may ask for, as long as no other site's page does. */
  admitAnyone(request: IncomingMessage): void {
    checkOrigin(request)
  }

  /** Who asks. Throws when nobody knows, or when the role does not allow it. */
  admit(request: IncomingMessage, needed: Role): Actor {
    checkOrigin(request)
    const { name, role } = this.#identify(request)
    if (mayAct(role, needed)) return { name, role, address: request.socket.remoteAddress ?? "" }
    throw new SluiceError("ROLE_REQUIRED", { place: "role", expected: `must be ${needed}`, found: role })
  }

  #identify(request: IncomingMessage): { readonly name: string; readonly role: Role } {
    if (!this.#tokens.isEmpty) return this.#tokens.identify(request)
    checkLocal(request)
    return { name: "loopback", role: "admin" }
  }
}
