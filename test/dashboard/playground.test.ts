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
    expect(await sketch.getAttribute("aria-valuetext")).toBe("second 0.5: 5 requests")
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
    expect(errors).toEqual([])
  })
})
