// The views inside Rules and Try it: in both themes, both languages, on a phone, and for a reader.
// pages.test.ts covers the pages themselves.

import { createHash } from "node:crypto"
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from "vitest"
import { closePages, isTooWide, openPage, type Page, picture, type View, violations } from "./browser.js"
import { buildPage, EXAMPLE_RULES, startTestService, type TestService } from "./test-service.js"

vi.setConfig({ testTimeout: 60_000 })

let server: TestService
beforeAll(async () => {
  buildPage()
  server = await startTestService({ rules: EXAMPLE_RULES })
  await server.check({ method: "POST", path: "/login", ip: "192.0.2.1" }, 9)
  await server.ask("PATCH", "/rules/login?comment=incident%2042", {
    description: "Slow down password guessing",
  })
}, 60_000)
afterEach(closePages)
afterAll(() => server.close())

/** Each view with its address, and the steps to reach it. */
const PLACES: readonly (readonly [name: string, path: string, arrive: (page: Page) => Promise<void>])[] = [
  [
    "rule-form",
    "rules/rule/api",
    async (page) => {
      await page.locator(".rules-limit input").first().fill("0")
      await page.locator(".rules-limit-errors li").waitFor()
    },
  ],
  [
    "rule-yaml",
    "rules/rule/api",
    async (page) => {
      await page.getByText("YAML", { exact: true }).click()
      await page.locator(".cm-content").click()
      await page.keyboard.press("Control+End")
      await page.keyboard.type("on")
      await page.locator(".cm-tooltip-autocomplete").waitFor()
      await page.locator(".cm-lint-marker-error").waitFor()
    },
  ],
  [
    "rule-review",
    "rules/rule/api",
    async (page) => {
      await page.locator(".rules-limit input").first().fill("25")
      await page.locator(".rules-save .primary:enabled").click()
      await page.locator(".diff tr.added").waitFor()
    },
  ],
  ["rules-set", "rules/set", (page) => page.locator(".cm-content").waitFor()],
  [
    "rules-history",
    "rules/history",
    (page) => page.getByText("incident 42").first().waitFor({ state: "attached" }),
  ],
  [
    "try",
    "try?method=POST&path=/login&ip=192.0.2.1",
    (page) => page.locator(".try-verdict.denied").waitFor(),
  ],
]

/** Opens all views in one browser. */
async function walk(
  view: View,
  name: string,
  see: (page: Page, place: string) => Promise<void>,
): Promise<void> {
  const { page, errors } = await openPage(server.url, view)
  for (const [place, path, arrive] of PLACES) {
    // Another query loads the page again, so that drafts of the previous view are gone.
    await page.goto(`${server.url}/?${place}#/${path}`)
    await arrive(page)
    await picture(page, `${place}-${name}`)
    await see(page, place)
  }
  expect(errors).toEqual([])
}

describe("Rules and Try it", () => {
  it.each(["light", "dark"] as const)("have no serious accessibility violation: %s", async (theme) => {
    await walk({ theme }, theme, async (page, place) => {
      expect([place, ...(await violations(page))]).toEqual([place])
    })
  })

  it("fit on a phone", async () => {
    await walk({ width: 360, height: 760 }, "phone", async (page, place) => {
      expect([place, await isTooWide(page)]).toEqual([place, false])
    })
  })

  it("are in Chinese", async () => {
    await walk({ language: "zh-CN" }, "zh", async (page, place) => {
      const english = (await page.locator("main").innerText()).match(/\b(?:the|of|and|is|with|has|may)\b/g)
      // The page does not translate the content of rules, nor the answers of the service.
      if (place === "rules-history") expect([place, english]).toEqual([place, null])
      expect(await page.locator("nav").first().innerText()).toMatch(/\p{Script=Han}/u)
      expect(await page.locator("main").innerText()).toMatch(/\p{Script=Han}{4}/u)
    })
  })
})

describe("a reader", () => {
  const token = "a-token-for-somebody-who-only-looks"
  const hash = createHash("sha256").update(token).digest("hex")

  it("sees the rules, but no way to change them", async () => {
    const own = await startTestService({
      rules: EXAMPLE_RULES,
      token,
      config: { control: { tokens: [{ name: "ann", role: "reader", hash }] } },
    })
    try {
      const { page } = await openPage(`${own.url}/#/rules`)
      await page.locator("input").fill(token)
      await page.keyboard.press("Enter")
      await page.getByRole("link", { name: "search" }).waitFor()
      expect(await page.getByRole("link", { name: "New rule" }).count()).toBe(0)
      expect(await page.getByRole("button", { name: /Enforce/ }).count()).toBe(0)
      await page.getByRole("link", { name: "search" }).click()
      await page.getByText("Your token can view rules but not change them.").waitFor()
      expect(await page.getByLabel("Description").isDisabled()).toBe(true)
      await page.getByText("YAML", { exact: true }).click()
      expect(await page.locator(".cm-content").getAttribute("contenteditable")).toBe("false")
      expect(await page.getByRole("button", { name: /Delete|Review/ }).count()).toBe(0)
      await page.goto(`${own.url}/#/try?method=POST&path=/login`)
      await page.locator(".try-verdict").waitFor()
    } finally {
      await closePages()
      await own.close()
    }
  })
})
