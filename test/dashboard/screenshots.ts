// Takes the pictures of the docs, of a service with a minute of sample traffic.

import { mkdirSync } from "node:fs"
import { fileURLToPath } from "node:url"
import { afterAll, beforeAll, it } from "vitest"
import { eventually } from "../support/eventually.js"
import { closeBrowser, openPage, type Page, type View } from "./browser.js"
import { buildPage, startTestService, type TestService } from "./test-service.js"

const IMAGES = fileURLToPath(new URL("../../docs/images/", import.meta.url))
const WIDE = { width: 1280, height: 800 }
/** High enough for the table of rules at the end of the page. */
const TALL = { width: 1280, height: 1070 }

let server: TestService

beforeAll(async () => {
  mkdirSync(IMAGES, { recursive: true })
  buildPage()
  server = await startTestService()
})
afterAll(async () => {
  await closeBrowser()
  await server.close()
})

async function take(
  name: string,
  hash: string,
  view: View,
  prepare = async (_page: Page) => {},
): Promise<void> {
  const { page } = await openPage(`${server.url}/${hash}`, view)
  // The charts show one minute.
  await page.evaluate(() => localStorage.setItem("sluice.span", "1"))
  await page.reload()
  await page.getByRole("heading", { level: 1 }).waitFor()
  await page.waitForFunction(() => document.querySelector(".loading") === null)
  await prepare(page)
  await page.screenshot({ path: `${IMAGES}${name}.png` })
}

it("takes the pictures of the docs", async () => {
  await server.ask("POST", "/sample-traffic")
  // Wait for its end and start it again, so that the last minute has traffic throughout.
  await eventually(
    async () => {
      const { sampleTraffic } = (await server.ask("GET", "/status")) as { sampleTraffic: { endsAt?: number } }
      return sampleTraffic.endsAt === undefined
    },
    { within: 90_000, every: 200 },
  )
  await server.ask("POST", "/sample-traffic")
  await take("dashboard-overview", "#/overview", TALL)
  await take("dashboard-overview-dark", "#/overview", { ...TALL, theme: "dark" })
  await take("dashboard-phone", "#/overview", { width: 390, height: 800 })
  const [busiest] = (await server.ask("GET", "/top?by=denied&limit=1")) as { rule: string; key: string }[]
  const key = `${busiest?.rule}/${encodeURIComponent(String(busiest?.key))}`
  await take("dashboard-key", `#/clients/${key}`, WIDE, async (page) => {
    const chart = page.getByRole("slider")
    // Wait for some samples.
    await eventually(async () => Number(await chart.getAttribute("aria-valuemax")) > 20, { within: 60_000 })
  })
  await take("dashboard-rules", "#/rules", WIDE)
  await take("dashboard-rule", "#/rules/rule/api", WIDE)
  await take("dashboard-try", "#/try?method=POST&path=/login&ip=203.0.113.7", WIDE, async (page) => {
    await page.locator(".try-verdict").waitFor()
  })
  await take("dashboard-playground", "#/playground", WIDE)
  await take("dashboard-replay", "#/replay", WIDE, async (page) => {
    await page.getByRole("button", { name: "Half of every limit" }).click()
    await page.getByRole("textbox", { name: "Rules of Half" }).waitFor()
    await page.getByRole("button", { name: "Replay", exact: true }).click()
    await page.getByRole("table", { name: "Side by side" }).waitFor()
    await page
      .getByRole("button", { name: "Replay", exact: true })
      .evaluate((button) => button.scrollIntoView())
  })
})
