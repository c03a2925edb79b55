import type { AcceptedPath } from "sluice/http"

/** What the upstream is asked for. `prefix` is cut off in front. */
export function forwardedPath({ path, query }: AcceptedPath, prefix: string | undefined): string {
  return withQuery(prefix === undefined ? path : stripped(path, prefix), query)
}

/** `/api` from `/api/x`, never from `/apix`. */
function stripped(path: string, prefix: string): string {
  const root = prefix.endsWith("/") ? prefix.slice(0, -1) : prefix
  if (!path.startsWith(root) || (path.length > root.length && path[root.length] !== "/")) return path
  return path.slice(root.length) || "/"
}

export function withQuery(path: string, query: string): string {
  return query === "" ? path : `${path}?${query}`
}
