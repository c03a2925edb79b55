// How the places inside of Rules and Try it look and read: in both themes, both languages, on a phone, and to who may only
// look. The pages themselves are in pages.test.ts.

import { createHash } from "node:crypto"
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from "vitest"
import { type Bed, buildPage, EXAMPLE_RULES, startBed } from "./bed.js"
import { barriers, closePages, isTooWide, look, type Page, picture, type View } from "./browser.js"

vi.setConfig({ testTimeout: 60_000 })

let bed: Bed
beforeAll(async () => {
  buildPage()
  bed = await startBed({ rules: EXAMPLE_RULES })
  await bed.check({ method: "POST", path: "/login", ip: "192.0.2.1" }, 9)
  await bed.ask("PATCH", "/rules/login?comment=incident%2042", { description: "Slow down password guessing" })
}, 60_000)
afterEach(closePages)
afterAll(() => bed.close())

/** Each place, and what it takes to get there and see that it has come. */
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

/** Every place of a view, in one browser. */
async function walk(
  view: View,
  name: string,
  see: (page: Page, place: string) => Promise<void>,
): Promise<void> {
  const { page, troubles } = await look(bed.url, view)
  for (const [place, path, arrive] of PLACES) {
    // Another query is another document, so that no place has what was typed in the one before.
    await page.goto(`${bed.url}/?${place}#/${path}`)
    await arrive(page)
    await picture(page, `${place}-${name}`)
    await see(page, place)
  }
  expect(troubles).toEqual([])
}

describe("Rules and Try it", () => {
  it.each(["light", "dark"] as const)("have no serious barrier: %s", async (theme) => {
    await walk({ theme }, theme, async (page, place) => {
      expect([place, ...(await barriers(page))]).toEqual([place])
    })
  })

  it("fit on a phone", async () => {
    await walk({ width: 360, height: 760 }, "phone", async (page, place) => {
      expect([place, await isTooWide(page)]).toEqual([place, false])
    })
  })

  it("speak Chinese", async () => {
    await walk({ language: "zh-CN" }, "zh", async (page, place) => {
      const english = (await page.locator("main").innerText()).match(/\b(?:the|of|and|is|with|has|may)\b/g)
      // What people wrote into rules, and what the service answers to programs, is not the page's to translate.
      if (place === "rules-history") expect([place, english]).toEqual([place, null])
      expect(await page.locator("nav").first().innerText()).toMatch(/\p{Script=Han}/u)
      expect(await page.locator("main").innerText()).toMatch(/\p{Script=Han}{4}/u)
    })
  })
})

describe("who may only look", () => {
  const token = "a-token-for-somebody-who-only-looks"
  const hash = createHash("sha256").update(token).digest("hex")

  it("sees the rules and their history, and no way to change them", async () => {
    const own = await startBed({
      rules: EXAMPLE_RULES,
      token,
      config: { control: { tokens: [{ name: "ann", role: "reader", hash }] } },
    })
    try {
      const { page } = await look(`${own.url}/#/rules`)
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
