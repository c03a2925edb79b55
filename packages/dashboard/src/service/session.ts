// Who is signed in. The token is kept for this tab only, and goes nowhere but to the service that gave the page.

import { computed, signal } from "@preact/signals"

export const ROLES = ["reader", "editor", "admin"] as const
export type Role = (typeof ROLES)[number]

export interface Session {
  readonly name: string
  readonly role: Role
  /** False where the service has no tokens and believes whoever is on its machine. */
  readonly byToken: boolean
}

const STORED = "sluice.token"

/** Undefined until `openSession` has looked for one. */
export const token = signal<string | undefined>()
export const session = signal<Session | undefined>()
/** Why nobody is signed in; undefined as long as nobody knows. */
export const signedOut = signal<"needed" | "refused" | "limited" | "unreachable" | undefined>()

export const mayEdit = computed(() => session.value !== undefined && session.value.role !== "reader")
export const isAdmin = computed(() => session.value?.role === "admin")

/** Starts the page with the token of its address, or with the one that this tab has kept. */
export async function openSession(): Promise<void> {
  token.value = tokenInAddress() ?? storedToken()
  await startSession()
}

/** Finds out who asks: a service without tokens needs no sign-in. */
export async function startSession(): Promise<void> {
  const headers = token.value === undefined ? {} : { authorization: `Bearer ${token.value}` }
  let response: Response
  try {
    response = await fetch(new URL("session", document.baseURI), { headers, cache: "no-store" })
  } catch {
    signedOut.value = "unreachable"
    return
  }
  if (response.ok) {
    session.value = (await response.json()) as Session
    signedOut.value = undefined
    if (token.value !== undefined) store(token.value)
  } else if (response.status === 429) signedOut.value = "limited"
  else if (response.status === 401) signOut(token.value === undefined ? "needed" : "refused")
  else signedOut.value = "unreachable"
}

/** Follows a link with a token that is opened in a tab which has the page already. */
export function followLinks(): void {
  addEventListener("hashchange", () => {
    const given = tokenInAddress()
    if (given !== undefined) void signIn(given)
  })
}

/** The token of a link such as `npm start` prints: `#token=…`, which browsers do not send. It is taken out of the address. */
function tokenInAddress(): string | undefined {
  const given = /^#token=([\x21-\x7e]+)$/.exec(location.hash)?.[1]
  if (given !== undefined) history.replaceState(null, "", location.pathname)
  return given
}

export async function signIn(given: string): Promise<void> {
  token.value = given
  await startSession()
}

export function signOut(why: "needed" | "refused" = "needed"): void {
  token.value = undefined
  session.value = undefined
  signedOut.value = why
  store(undefined)
}

function storedToken(): string | undefined {
  try {
    return sessionStorage.getItem(STORED) ?? undefined
  } catch {
    return undefined
  }
}

function store(value: string | undefined): void {
  try {
    if (value === undefined) sessionStorage.removeItem(STORED)
    else sessionStorage.setItem(STORED, value)
  } catch {
    // Then the next page asks again.
  }
}
