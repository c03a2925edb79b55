// The API description, for programs and as a page.

import { DOCS_STYLE, docsPage } from "../api/docs-page.js"
import { describeApi, type OpenApi } from "../api/openapi.js"
import { type Route, route } from "../api/route.js"

const tag = "Service"
const page = { schema: { type: "string" } }

/** Makes the routes that describe the given routes and themselves. The description is made at the first request. */
export function descriptionRoutes(routes: readonly Route[], version: string): Route[] {
  let api: OpenApi | undefined
  const described = (): OpenApi => {
    api ??= describeApi([...routes, ...own], version)
    return api
  }
  const own = [
    route({
      method: "GET",
      path: "/openapi.json",
      role: "anyone",
      tag,
      summary: "This description, for programs",
      answer: { description: "OpenAPI 3.1.", schema: { type: "object" } },
      run: () => ({ json: described() }),
    }),
    route({
      method: "GET",
      path: "/docs",
      role: "anyone",
      tag,
      summary: "This description as a page",
      answer: { ...page, description: "A page.", types: ["text/html"] },
      run: () => ({ content: docsPage(described()), type: "text/html; charset=utf-8" }),
    }),
    route({
      method: "GET",
      path: "/docs/style.css",
      role: "anyone",
      tag,
      summary: "The style sheet of the page",
      answer: { ...page, description: "A style sheet.", types: ["text/css"] },
      run: () => ({
        content: DOCS_STYLE,
        type: "text/css; charset=utf-8",
        headers: { "cache-control": "no-cache" },
      }),
    }),
  ]
  return own
}
