import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from "vitest"
import { closePages, isTooWide, openPage, type Page, picture, violations } from "./browser.js"
import { buildPage, startTestService, type TestService } from "./test-service.js"

vi.setConfig({ testTimeout: 60_000 })

let server: TestService
beforeAll(async () => {
  buildPage()
  server = await startTestService()
}, 60_000)
afterEach(closePages)
afterAll(() => server.close())

const open = (query = "", view = {}) => openPage(`${server.url}/#/playground${query}`, view)

/** The chart of an algorithm. */
function chart(page: Page, name: string) {
  return page.getByRole("img", { name: new RegExp(`^${name}[:：]`) })
}

describe("the playground", () => {
  it("first shows the boundary burst of the fixed window, which the exact log denies", async () => {
    const { page, errors } = await open()
    await chart(page, "fixed-window").waitFor()
    expect(await chart(page, "fixed-window").getAttribute("aria-label")).toContain(
      "busiest 10 s: 20, 10 over the limit",
    )
    expect(await chart(page, "sliding-window-log").getAttribute("aria-label")).toContain("busiest 10 s: 10;")
    // The busiest window is marked, with its number of requests.
    await chart(page, "fixed-window").locator(".bracket").getByText("20").waitFor()
    expect(await chart(page, "sliding-window-log").locator(".bracket").count()).toBe(0)
    await picture(page, "playground")
    expect(errors).toEqual([])
  })

  it("applies another shape, limit or window at once, and keeps them in the address", async () => {
    const { page } = await open()
    await page.getByText("Steady").click()
    await page.getByRole("spinbutton", { name: "Limit" }).fill("40")
    await page.getByRole("combobox", { name: "Window" }).selectOption("20")
    await page.getByText("40 per 20 seconds").waitFor()
    await page.waitForURL(/#\/playground\?shape=steady&limit=40&window=20$/)
    const before = await chart(page, "token-bucket").getAttribute("aria-label")
    await page.reload()
    await chart(page, "token-bucket").waitFor()
    expect(await chart(page, "token-bucket").getAttribute("aria-label")).toBe(before)
  })

  it("refuses an invalid limit, and keeps the last valid one", async () => {
    const { page } = await open()
    await page.getByRole("spinbutton", { name: "Limit" }).fill("0")
    await page.getByText("A whole number from 1 to 100.").waitFor()
    await page.getByText("10 per 10 seconds").waitFor()
  })

  it("accepts traffic drawn with the pointer", async () => {
    const { page } = await open("?shape=steady")
    await page.getByRole("button", { name: "Clear" }).click()
    await page.getByText("0 requests in a minute").waitFor()
    const sketch = page.getByRole("slider", { name: "Requests per half second" })
    const box = await sketch.boundingBox()
    if (box === null) throw new Error("the sketch is not there")
    await page.mouse.move(box.x + 1, box.y + box.height / 3)
    await page.mouse.down()
    await page.mouse.move(box.x + box.width - 2, box.y + box.height / 3, { steps: 3 })
    await page.mouse.up()
    // Ten requests in each of 120 slots, without gaps.
    await page.getByText("1,200 requests in a minute").waitFor()
    expect(await page.getByRole("radio", { name: "Drawn" }).isChecked()).toBe(true)
    expect(await chart(page, "sliding-window-log").getAttribute("aria-label")).toContain("60 of 1200 allowed")
  })

  it("accepts traffic drawn with the keyboard", async () => {
    const { page } = await open()
    await page.getByRole("button", { name: "Clear" }).focus()
    await page.keyboard.press("Enter")
    const sketch = page.getByRole("slider", { name: "Requests per half second" })
    await sketch.focus()
    for (const key of ["Home", "ArrowRight", "PageUp", "ArrowUp", "ArrowDown"]) await page.keyboard.press(key)
    expect(await sketch.getAttribute("aria-valuetext")).toBe("0.5 s: 5 requests")
    await page.getByText("5 requests in a minute").waitFor()
  })

  it("tells which algorithms decide the same, and compares the chosen ones", async () => {
    const { page } = await open("?shape=random")
    await page.getByRole("checkbox", { name: "gcra" }).check()
    await page.getByText("same decisions as token-bucket").waitFor()
    await page.getByRole("checkbox", { name: "fixed-window" }).uncheck()
    await chart(page, "fixed-window").waitFor({ state: "detached" })
    const table = page.getByRole("table", { name: "Results" })
    expect(await table.getByRole("rowheader").allInnerTexts()).toEqual([
      "sliding-window-counter",
      "sliding-window-log",
      "token-bucket",
      'leaky-bucket, overflow: "queue"',
      "gcra",
    ])
  })

  it("plays the minute, and stops when the user moves the time", async () => {
    const { page } = await open()
    const time = page.getByRole("slider", { name: "Time" })
    await page.getByRole("button", { name: "Play" }).click()
    await page.getByRole("button", { name: "Pause" }).waitFor()
    await time.fill("10000")
    await page.getByRole("button", { name: "Play" }).waitFor()
    expect(await time.getAttribute("aria-valuetext")).toBe("10.0 s")
    // After ten seconds, both bursts are within one window.
    const fixed = page.getByRole("listitem").filter({ has: chart(page, "fixed-window") })
    await fixed.getByText("20 in the window, 0 remaining").waitFor()
    // The mouse moves the time too, here to a time between two bursts.
    const width = Number(await chart(page, "fixed-window").getAttribute("width"))
    await chart(page, "fixed-window").hover({ position: { x: (width * 25) / 60, y: 40 } })
    await fixed.getByText("0 in the window, 10 remaining").waitFor()
    expect(await time.getAttribute("aria-valuetext")).toMatch(/^2[45]\.\d s$/)
  })

  it("shows two windows of the calendar around their boundary, over daylight saving", async () => {
    // Berlin skips an hour on 29 March 2026.
    const { page, errors } = await open("?window=day&timeZone=Europe/Berlin&at=2026-03-28T12:00:00Z")
    await page.getByText("10 per day (Europe/Berlin)").waitFor()
    await page.getByText("the first has 1 d, the second 23 h.").waitFor()
    // Both the drawing and the time line label the start, the boundary and the end.
    for (const label of ["Mar 28, 00:00", "Mar 29, 00:00", "Mar 30, 00:00"])
      expect([label, await page.locator(".playground-axis").getByText(label).count()]).toEqual([label, 2])
    expect(await chart(page, "fixed-window").getAttribute("aria-label")).toContain(
      "busiest 24 h: 20, 10 over the limit",
    )
    expect(await chart(page, "sliding-window-log").getAttribute("aria-label")).toContain("busiest 24 h: 10;")
    const code = page.getByRole("table", { name: "Results" }).locator("code")
    await code.getByText('limit: 10, window: "day", timeZone: "Europe/Berlin"').waitFor()
    await page.getByRole("button", { name: "Later" }).focus()
    await page.keyboard.press("Enter")
    await page.getByText("the first has 23 h, the second 1 d.").waitFor()
    await page.waitForURL(/window=day&timeZone=Europe%2FBerlin&at=2026-03-28T23%3A00%3A00\.000Z$/)
    expect(errors).toEqual([])
  })

  it("starts with the current window of a chosen unit, and keeps its time when the time zone changes", async () => {
    const { page } = await open()
    const before = Date.now()
    await page.getByRole("combobox", { name: "Window" }).selectOption("hour")
    await page.waitForURL(/window=hour&timeZone=UTC&at=/)
    const start = /at=(.+)$/.exec(page.url())?.[1] ?? ""
    expect(Date.parse(decodeURIComponent(start))).toBeLessThanOrEqual(Date.now())
    expect(Date.parse(decodeURIComponent(start))).toBeGreaterThan(before - 3_600_000)
    await page.getByRole("combobox", { name: "Time zone" }).selectOption("Asia/Tokyo")
    await page.waitForURL((url) => url.href.endsWith(`timeZone=Asia%2FTokyo&at=${start}`))
    const time = page.getByRole("slider", { name: "Time", exact: true })
    await time.fill("3600000")
    expect(await time.getAttribute("aria-valuetext")).toMatch(/:00 GMT\+9$/)
    await page.getByRole("combobox", { name: "Window" }).selectOption("10")
    await page.getByText("10 per 10 seconds").waitFor()
    expect(await page.getByRole("combobox", { name: "Time zone" }).count()).toBe(0)
  })

  it.each(["light", "dark"] as const)(
    "shows the calendar without accessibility violations in %s",
    async (theme) => {
      const address = "?window=month&timeZone=Europe/Berlin&at=2026-03-15T12:00:00Z"
      const { page } = await open(address, { theme })
      await chart(page, "fixed-window").waitFor()
      expect(await violations(page)).toEqual([])
      await picture(page, `playground-calendar-${theme}`)
    },
  )

  it.each(["light", "dark"] as const)("has no serious accessibility violation in %s", async (theme) => {
    const { page, errors } = await open("?shape=waves", { theme })
    await chart(page, "gcra").or(chart(page, "fixed-window")).first().waitFor()
    expect(await violations(page)).toEqual([])
    expect(errors).toEqual([])
  })

  it("fits a phone, in Chinese", async () => {
    const { page, errors } = await open("", { width: 360, language: "zh-CN" })
    await page.getByRole("heading", { level: 1, name: "演练场" }).waitFor()
    await chart(page, "fixed-window").waitFor()
    expect(await isTooWide(page)).toBe(false)
    await picture(page, "playground-phone-zh")
    await page.getByRole("combobox", { name: "窗口" }).selectOption("week")
    await page.getByText("每 周 10 个 (UTC)").waitFor()
    expect(await isTooWide(page)).toBe(false)
    await picture(page, "playground-calendar-phone-zh")
    expect(errors).toEqual([])
  })
})
