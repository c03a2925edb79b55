// The frame around every page: navigation, the signed-in user, and whether the service is reachable.

import type { ComponentType } from "preact"
import { useEffect, useState } from "preact/hooks"
import { t } from "./browser/i18n.js"
import { type PageName, route } from "./browser/router.js"
import { Failure, Loading } from "./parts/empty.js"
import { Toasts } from "./parts/toast.js"
import { followEvents } from "./service/live.js"
import { session, signedOut } from "./service/session.js"
import { followStatus } from "./service/status.js"
import { followTraffic } from "./service/traffic.js"
import { ConnectionBanner } from "./shell/connection-banner.js"
import { Nav } from "./shell/nav.js"
import { SignIn } from "./shell/sign-in.js"
import { texts } from "./shell/texts.js"

export function App() {
  useEffect(followEvents, [])
  useEffect(followTraffic, [])
  useEffect(followStatus, [])
  if (session.value === undefined)
    return signedOut.value === undefined ? null : <SignIn why={signedOut.value} />
  return (
    <div class="shell">
      <button type="button" class="skip" onClick={skip}>
        {t(texts).skip}
      </button>
      <Nav />
      <main id="main" tabIndex={-1}>
        <ConnectionBanner />
        <CurrentPage page={route.value.page} />
      </main>
      <Toasts />
    </div>
  )
}

/** Moves the focus to the content. It is not a link, because the fragment of the address names the page. */
function skip(): void {
  document.getElementById("main")?.focus()
}

function CurrentPage({ page }: { readonly page: PageName }) {
  const [shown, setShown] = useState<{ page: PageName; Page?: ComponentType; problem?: unknown }>({ page })
  const load = () => {
    pages[page]().then(
      ({ Page }) => setShown({ page, Page }),
      (problem: unknown) => setShown({ page, problem }),
    )
  }
  useEffect(load, [page])
  const { title } = t(texts).pages[page]
  useEffect(() => {
    document.title = `${title} · Sluice`
  }, [title])
  const { Page } = shown
  if (shown.problem !== undefined) return <Failure problem={shown.problem} onRetry={load} />
  return Page !== undefined && shown.page === page ? <Page key={page} /> : <Loading />
}

/** Each page is a chunk that is loaded when it is first shown. */
export const pages: Readonly<Record<PageName, () => Promise<{ readonly Page: ComponentType }>>> = {
  overview: () => import("./pages/overview/page.js"),
  rules: () => import("./pages/rules/page.js"),
  try: () => import("./pages/try/page.js"),
  clients: () => import("./pages/clients/page.js"),
  playground: () => import("./pages/playground/page.js"),
  replay: () => import("./pages/replay/page.js"),
}
