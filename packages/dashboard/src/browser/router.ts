// The address of the current page: `#/rules/rule/login`. Pages are in the fragment because paths such as
// /rules belong to the API.

import { signal } from "@preact/signals"

export const PAGES = ["overview", "rules", "try", "clients", "playground", "replay"] as const
export type PageName = (typeof PAGES)[number]

export interface Route {
  readonly page: PageName
  /** The decoded segments after the page: `["rule", "login"]`. */
  readonly path: readonly string[]
  readonly query: URLSearchParams
}

export const route = signal<Route>(parseRoute(location.hash))

addEventListener("hashchange", () => {
  route.value = parseRoute(location.hash)
})

export function parseRoute(hash: string): Route {
  const [path = "", query = ""] = hash.replace(/^#\/?/, "").split("?")
  const [name, ...rest] = path.split("/").map(decoded)
  const page = PAGES.find((known) => known === name) ?? "overview"
  return { page, path: rest.filter((part) => part !== ""), query: new URLSearchParams(query) }
}

/** The address of a page, for links: `href("rules", ["rule", "login"])`. */
export function href(
  page: PageName,
  path: readonly string[] = [],
  query: Readonly<Record<string, string>> = {},
): string {
  const search = new URLSearchParams(query).toString()
  const address = `#/${[page, ...path].map(encodeURIComponent).join("/")}`
  return search === "" ? address : `${address}?${search}`
}

/** Goes to a page, as a click on its link does. */
export function go(...address: Parameters<typeof href>): void {
  location.hash = href(...address)
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part)
  } catch {
    return part
  }
}
