// Who is signed in. The page keeps the token in this tab, and sends it only to the service that served the page.

import { computed, signal } from "@preact/signals"

export const ROLES = ["reader", "editor", "admin"] as const
export type Role = (typeof ROLES)[number]

export interface Session {
  readonly name: string
  readonly role: Role
  /** False if the service requires no token from clients on its own machine. */
  readonly byToken: boolean
}

const STORED = "sluice.token"

/** Undefined without a token, and until `openSession` has run. */
export const token = signal<string | undefined>()
export const session = signal<Session | undefined>()
/** Why nobody is signed in. Undefined until the service has answered. */
export const signedOut = signal<"needed" | "refused" | "limited" | "unreachable" | undefined>()

export const mayEdit = computed(() => session.value !== undefined && session.value.role !== "reader")
export const isAdmin = computed(() => session.value?.role === "admin")

/** Starts the session with the token in the address, or with the one stored in this tab. */
export async function openSession(): Promise<void> {
  token.value = tokenInAddress() ?? storedToken()
  await startSession()
}

/** Asks the service who is signed in. A service without tokens needs no sign-in. */
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

/** Signs in when a link with a token is opened in a tab that already shows the page. */
export function followLinks(): void {
  addEventListener("hashchange", () => {
    const given = tokenInAddress()
    if (given !== undefined) void signIn(given)
  })
}

/** Takes the token out of the address. `npm start` prints such a link: `#token=…`. Browsers do not send the fragment. */
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
    // Without storage, a reload asks for the token again.
  }
}
