// Which page is shown: `#/rules/login?tab=yaml`. The path before the # is never more than the dashboard itself, because
// /rules and its kind are the API's.

import { signal } from "@preact/signals"

export const PAGES = ["overview", "rules", "try", "clients", "playground", "replay"] as const
export type PageName = (typeof PAGES)[number]

export interface Route {
  readonly page: PageName
  /** What follows the page's name, decoded: `["login"]`. */
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

/** The address of a page, for `href`: `href("rules", ["login"])`. */
export function href(
  page: PageName,
  path: readonly string[] = [],
  query: Readonly<Record<string, string>> = {},
): string {
  const search = new URLSearchParams(query).toString()
  const address = `#/${[page, ...path].map(encodeURIComponent).join("/")}`
  return search === "" ? address : `${address}?${search}`
}

/** Shows a page, as if its link had been followed. */
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
