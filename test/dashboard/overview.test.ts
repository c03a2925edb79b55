import { afterEach, beforeAll, describe, expect, it, vi } from "vitest"
import { eventually } from "../support/eventually.js"
import { startRedis } from "../support/redis/single.js"
import { closePages, openPage, type Page, picture, violations } from "./browser.js"
import { buildPage, startTestService, type TestService } from "./test-service.js"

vi.setConfig({ testTimeout: 60_000 })

const servers: { close(): Promise<void> }[] = []

async function server(...options: Parameters<typeof startTestService>): Promise<TestService> {
  const started = await startTestService(...options)
  servers.push(started)
  return started
}

beforeAll(buildPage, 120_000)
afterEach(async () => {
  await closePages()
  for (const started of servers.splice(0)) await started.close()
})

/** A figure of the page as a number: `31/s` is 31. */
async function figure(page: Page, name: string): Promise<number> {
  const tile = page.locator(".figure", { has: page.getByText(name, { exact: true }) })
  return Number.parseFloat((await tile.locator(".value").textContent()) ?? "")
}

const SIGN_IN = { method: "POST", path: "/login", ip: "192.0.2.1" }

describe("the overview of a fresh start", () => {
  it("offers sample traffic, and shows it in its charts", async () => {
    const { url, service } = await server()
    const { page, errors } = await openPage(url)
    await page.getByRole("heading", { name: "No requests yet" }).waitFor()
    await picture(page, "overview-empty")
    expect(await violations(page)).toEqual([])
    await page.getByRole("button", { name: "Send sample traffic" }).click()
    await page.getByText("Sample traffic until", { exact: false }).waitFor()
    await page.getByRole("heading", { name: "Requests per second" }).waitFor()
    await eventually(async () => (await figure(page, "Denied")) > 0, { within: 20_000 })
    await eventually(async () => (await figure(page, "In shadow")) > 0, { within: 20_000 })
    await page.getByRole("button", { name: "Stop" }).click()
    await page.getByRole("button", { name: "Send sample traffic" }).waitFor()
    const { denied } = service.watch.history().requests
    expect(denied.some((count) => count > 0)).toBe(true)
    expect(errors).toEqual([])
  })

  it("offers no sample traffic with the user's own rules", async () => {
    const { url } = await server({ rules: "version: 1\nrules: []\n" })
    const { page } = await openPage(url)
    await page.getByRole("heading", { name: "No requests yet" }).waitFor()
    await page.getByText("revision 1").waitFor()
    expect(await page.getByRole("button", { name: "Send sample traffic" }).count()).toBe(0)
  })
})

describe("the overview under load", () => {
  it("follows the service second by second, and shows what it counted", async () => {
    const started = await server()
    const { page, errors } = await openPage(started.url)
    await page.getByText("Live", { exact: true }).waitFor()
    for (let i = 0; i < 10; i++) await started.check(SIGN_IN, 100)
    const row = page.getByRole("row", { name: /^login/ })
    await row.waitFor()
    // 5 of the 1,000 are allowed. All are within the ten seconds of a rate.
    await eventually(async () => (await figure(page, "Denied")) >= 99, { within: 20_000 })
    await eventually(async () => /99(\.5)?\/s|100\/s/.test((await row.textContent()) ?? ""), {
      within: 20_000,
    })
    await page.getByRole("link", { name: "ip:192.0.2.1" }).waitFor()
    expect(errors).toEqual([])
  })

  it("shows what happened before it was opened", async () => {
    const started = await server()
    await started.check(SIGN_IN, 50)
    await eventually(() => started.service.watch.history().rules.length > 0)
    const { page } = await openPage(started.url)
    const line = page.getByRole("img", { name: "Denied by login: 45 in 15 minutes" })
    await line.waitFor()
  })

  it("shows a chosen rule alone, and describes its chart to screen readers", async () => {
    const started = await server()
    await started.check(SIGN_IN, 50)
    const { page } = await openPage(started.url)
    await page.getByRole("link", { name: "login", exact: true }).click()
    await page.getByRole("heading", { name: "Rule login: decisions per second" }).waitFor()
    const chart = page.getByRole("slider", { name: "Rule login: decisions per second" })
    await chart.focus()
    await eventually(
      async () => {
        await page.keyboard.press("ArrowLeft")
        return (await chart.getAttribute("aria-valuetext"))?.includes("Denied: 45")
      },
      { within: 20_000 },
    )
    await page.getByRole("link", { name: "All requests" }).click()
    await page.getByRole("heading", { name: "Requests per second" }).waitFor()
  })

  it("shows a new revision of the rules at once", async () => {
    const started = await server()
    const { page } = await openPage(started.url)
    await page.getByText("revision 1").waitFor()
    await started.ask("PATCH", "/rules/login", { description: "changed" })
    await page.getByText("revision 2").waitFor()
    await page.getByText("by loopback", { exact: false }).waitFor()
  })
})

describe("a service that is not reachable", () => {
  /** The values under the pointer of the chart, while it moves from the newest second to earlier ones. */
  async function valuesOf(page: Page, steps: number): Promise<string[]> {
    const chart = page.getByRole("slider", { name: "Requests per second" })
    await chart.focus()
    const values: string[] = []
    for (let i = 0; i < steps; i++) {
      await page.keyboard.press("ArrowLeft")
      values.push((await chart.getAttribute("aria-valuetext")) ?? "")
    }
    return values
  }

  it("is not called ready, has no rates, and leaves a gap in the charts", async () => {
    const started = await server()
    const { page } = await openPage(started.url)
    await page.getByText("Live", { exact: true }).waitFor()
    await started.check(SIGN_IN, 100)
    await eventually(async () => (await figure(page, "Denied")) > 0, { within: 20_000 })
    await page.getByText("Ready", { exact: true }).waitFor()
    await started.stop()
    await page.getByText("Not reachable", { exact: true }).waitFor()
    expect(await page.getByText("Ready", { exact: true }).count()).toBe(0)
    // Once none of the last ten seconds is known.
    await eventually(async () => Number.isNaN(await figure(page, "Denied")), { within: 30_000 })
    expect(await page.getByRole("row", { name: /^login/ }).innerText()).not.toMatch(/\b0\b/)
    const lost = await valuesOf(page, 5)
    expect(lost.every((text) => /Denied: –/.test(text))).toBe(true)
    await page.getByText(/^as of /).waitFor()
    await picture(page, "overview-lost")
    expect(await violations(page)).toEqual([])
    await started.start()
    await page.getByText("Ready", { exact: true }).waitFor()
    // What happened before is still there, the gap too, and then what the new service decides.
    await started.check(SIGN_IN, 20)
    await eventually(async () => (await figure(page, "Denied")) > 0, { within: 20_000 })
    const after = await valuesOf(page, 40)
    expect(after.some((text) => /Denied: –/.test(text))).toBe(true)
  })
})

describe("a store that goes away", () => {
  it("is reported with the state of the breaker until it answers again", async () => {
    const redis = await startRedis()
    servers.push({ close: () => redis.stop() })
    const started = await server({ config: { store: { url: `redis://127.0.0.1:${redis.port}` } } })
    servers.reverse()
    const { page } = await openPage(started.url)
    await page.getByText("closed", { exact: true }).waitFor()
    await redis.pause()
    await eventually(
      async () => {
        await started.check(SIGN_IN, 20)
        return (await page.getByText("The store does not answer.", { exact: false }).count()) > 0
      },
      { within: 30_000 },
    )
    await page.getByText("Degraded", { exact: true }).first().waitFor()
    await picture(page, "overview-store-away")
    expect(await violations(page)).toEqual([])
    redis.resume()
    await eventually(
      async () => {
        await started.check(SIGN_IN, 5)
        return (await page.getByText("closed", { exact: true }).count()) > 0
      },
      { within: 30_000 },
    )
  })
})
