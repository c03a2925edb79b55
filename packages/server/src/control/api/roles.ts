import type { TokenSpec } from "../../http/tokens.js"

/** The roles of tokens. Each role includes those before it. */
export const ROLES = ["reader", "editor", "admin"] as const
export type Role = (typeof ROLES)[number]

export function mayAct(role: Role, needed: Role): boolean {
  return ROLES.indexOf(role) >= ROLES.indexOf(needed)
}

/** A token of the control plane. */
export interface RoleTokenSpec extends TokenSpec {
  readonly role: Role
}

/** The client that sends a request. */
export interface Actor {
  readonly name: string
  readonly role: Role
  /** The address of the client. */
  readonly address: string
}
