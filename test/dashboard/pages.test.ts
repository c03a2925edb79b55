// What every page owes everybody: no barrier, no trouble, both languages, both themes, a phone.

import { afterAll, afterEach, beforeAll, expect, it, vi } from "vitest"
import { eventually } from "../support/eventually.js"
import { type Bed, buildPage, startBed } from "./bed.js"
import { barriers, closePages, isTooWide, look, type Page, picture } from "./browser.js"

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

let bed: Bed

beforeAll(async () => {
  buildPage()
  bed = await startBed()
  await bed.check({ method: "POST", path: "/login", ip: "192.0.2.1" }, 8)
  await bed.check({ method: "GET", path: "/v1/items", headers: { "x-api-key": "a" } }, 30)
}, 120_000)
afterEach(closePages)
afterAll(() => bed.close())

async function settled(page: Page, name: string): Promise<void> {
  await page.getByRole("heading", { level: 1, name }).first().waitFor()
  // Whatever is still on its way says so.
  await page.waitForFunction(() => document.querySelector(".loading") === null)
}

it.each(Object.entries(PAGES))(
  "%s has no barrier in either theme, fits a phone, speaks Chinese, and gives no trouble",
  async (hash, [english, chinese]) => {
    const { page, troubles } = await look(`${bed.url}/${hash}`)
    await settled(page, english)
    expect(await barriers(page)).toEqual([])
    await picture(page, `${nameOf(hash)}-light`)
    await page.emulateMedia({ colorScheme: "dark" })
    expect(await barriers(page)).toEqual([])
    await picture(page, `${nameOf(hash)}-dark`)
    await page.setViewportSize({ width: 360, height: 740 })
    // Charts take their new size a moment later.
    await eventually(async () => !(await isTooWide(page)))
    await picture(page, `${nameOf(hash)}-phone`)
    await page.getByRole("combobox", { name: "Language" }).selectOption("zh")
    await settled(page, chinese)
    expect(await isTooWide(page)).toBe(false)
    await picture(page, `${nameOf(hash)}-phone-zh`)
    expect(troubles).toEqual([])
  },
)

function nameOf(hash: string): string {
  return decodeURIComponent(hash).replace(/\W+/g, "-").replace(/^-/, "")
}
