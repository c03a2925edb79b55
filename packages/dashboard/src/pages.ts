import type { ComponentType } from "preact"
import type { PageName } from "./router.js"

/** Each page comes when it is first shown. */
export const pages: Readonly<Record<PageName, () => Promise<{ readonly Page: ComponentType }>>> = {
  overview: () => import("./pages/overview/page.js"),
  rules: () => import("./pages/rules/page.js"),
  try: () => import("./pages/try/page.js"),
  clients: () => import("./pages/clients/page.js"),
  playground: () => import("./pages/playground/page.js"),
  replay: () => import("./pages/replay/page.js"),
}
