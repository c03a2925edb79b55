import type { TokenSpec } from "../../http/tokens.js"

/** What a token may do. Each may do what those before it may. */
export const ROLES = ["reader", "editor", "admin"] as const
export type Role = (typeof ROLES)[number]

export function mayAct(role: Role, needed: Role): boolean {
  return ROLES.indexOf(role) >= ROLES.indexOf(needed)
}

/** A token of the control plane. */
export interface RoleTokenSpec extends TokenSpec {
  readonly role: Role
}

/** Who asks. */
export interface Actor {
  readonly name: string
  readonly role: Role
  /** The address it asks from. */
  readonly address: string
}
