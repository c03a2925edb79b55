// Every page is accessible, causes no errors, and works in both languages, in both themes and on a phone.

import { afterAll, afterEach, beforeAll, expect, it, vi } from "vitest"
import { eventually } from "../support/eventually.js"
import { closePages, isTooWide, openPage, type Page, picture, violations } from "./browser.js"
import { buildPage, startTestService, type TestService } from "./test-service.js"

vi.setConfig({ testTimeout: 120_000 })

const PAGES = {
  "#/overview": ["Overview", "概览"],
  "#/rules": ["Rules", "规则"],
  "#/try": ["Try it", "试一试"],
  "#/clients": ["Clients", "客户端"],
  "#/clients/login/ip%3A192.0.2.1": ["ip:192.0.2.1", "ip:192.0.2.1"],
  "#/playground": ["Playground", "演练场"],
  "#/replay": ["Replay", "回放"],
} as const

let server: TestService

beforeAll(async () => {
  buildPage()
  server = await startTestService()
  await server.check({ method: "POST", path: "/login", ip: "192.0.2.1" }, 8)
  await server.check({ method: "GET", path: "/v1/items", headers: { "x-api-key": "a" } }, 30)
}, 120_000)
afterEach(closePages)
afterAll(() => server.close())

async function settled(page: Page, name: string): Promise<void> {
  await page.getByRole("heading", { level: 1, name }).first().waitFor()
  // Parts that are still loading show a .loading element.
  await page.waitForFunction(() => document.querySelector(".loading") === null)
}

it.each(Object.entries(PAGES))(
  "%s is accessible in both themes, fits a phone, is translated, and causes no errors",
  async (hash, [english, chinese]) => {
    const { page, errors } = await openPage(`${server.url}/${hash}`)
    await settled(page, english)
    expect(await violations(page)).toEqual([])
    await picture(page, `${nameOf(hash)}-light`)
    await page.emulateMedia({ colorScheme: "dark" })
    expect(await violations(page)).toEqual([])
    await picture(page, `${nameOf(hash)}-dark`)
    await page.setViewportSize({ width: 360, height: 740 })
    // Charts adapt to the new size a moment later.
    await eventually(async () => !(await isTooWide(page)))
    await picture(page, `${nameOf(hash)}-phone`)
    await page.getByRole("combobox", { name: "Language" }).selectOption("zh")
    await settled(page, chinese)
    expect(await isTooWide(page)).toBe(false)
    await picture(page, `${nameOf(hash)}-phone-zh`)
    expect(errors).toEqual([])
  },
)

function nameOf(hash: string): string {
  return decodeURIComponent(hash).replace(/\W+/g, "-").replace(/^-/, "")
}
