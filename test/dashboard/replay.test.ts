import { gzipSync } from "node:zlib"
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from "vitest"
import { closePages, editorText, isTooWide, openPage, pasteText, picture, violations } from "./browser.js"
import { buildPage, startTestService, type TestService } from "./test-service.js"

vi.setConfig({ testTimeout: 60_000 })

let server: TestService
beforeAll(async () => {
  buildPage()
  server = await startTestService()
}, 60_000)
afterEach(closePages)
afterAll(() => server.close())

const open = (view = {}) => openPage(`${server.url}/#/replay`, view)

describe("the replay page", () => {
  it("runs the sample log through the rules in force with one click, and shows who would have been denied", async () => {
    const { page, errors } = await open()
    await page.getByRole("button", { name: "Replay", exact: true }).click()
    const whom = page.getByRole("table", { name: "Denied clients" })
    await whom.getByText("ip:192.0.2.66").waitFor()
    // The client that guesses passwords: five of its requests are within the limit.
    const guesser = whom.getByRole("row").filter({ hasText: "ip:192.0.2.66" })
    expect(await guesser.getByRole("cell").allInnerTexts()).toEqual(
      expect.arrayContaining(["150", "145", "97%"]),
    )
    await page.getByRole("table", { name: "By rule" }).getByText("login").waitFor()
    expect(errors).toEqual([])
  })

  it("compares candidates side by side, and shows the details of one", async () => {
    const { page, errors } = await open()
    await page.getByRole("button", { name: "Half of every limit" }).click()
    await page.getByRole("textbox", { name: "Rules of Half" }).waitFor()
    expect(await editorText(page)).toContain("limit: 500")
    await page.getByRole("button", { name: "Twice every limit" }).click()
    await page.getByRole("button", { name: "Replay", exact: true }).click()
    const compared = page.getByRole("table", { name: "Side by side" })
    await compared.waitFor()
    const rows = await compared.getByRole("row").allInnerTexts()
    const denied = rows.slice(1).map((row) => Number(row.split("\t")[1]?.replace(",", "")))
    expect(denied).toHaveLength(3)
    // The order is: in force, half, twice.
    expect(denied[1]).toBeGreaterThan(denied[0] as number)
    expect(denied[2]).toBeLessThan(denied[0] as number)
    await page.getByText("Half", { exact: true }).last().click()
    const login = page.getByRole("table", { name: "By rule" }).getByRole("row").filter({ hasText: "login" })
    // Three of the 150 guesses are allowed: half of five, rounded up.
    expect(await login.getByRole("cell").allInnerTexts()).toContain("147")
    await picture(page, "replay")
    expect(errors).toEqual([])
  })

  it("accepts a gzip file, detects its format, and lists the lines that it cannot read", async () => {
    const { page } = await open()
    await page.getByText("Log file").click()
    await page.getByRole("button", { name: "Replay", exact: true }).click()
    await page.getByText("Choose a file first.").waitFor()
    const line = '192.0.2.9 - - [01/Jan/2026:10:00:00 +0000] "POST /login HTTP/1.1" 200 5 "-" "curl/8"\n'
    const buffer = gzipSync(`${line.repeat(8)}<b>no line of a log</b>\n${line}`)
    await page
      .getByLabel("Access log")
      .setInputFiles({ name: "access.log.gz", mimeType: "application/gzip", buffer })
    await page.getByRole("button", { name: "Replay", exact: true }).click()
    await page.getByRole("table", { name: "Denied clients" }).getByText("ip:192.0.2.9").waitFor()
    await page.locator("summary").filter({ hasText: "Unreadable lines" }).click()
    await page.getByText("<b>no line of a log</b>").waitFor()
  })

  it("marks mistakes in a candidate while the user types, and shows why the service refuses it", async () => {
    const { page } = await open()
    await page.getByRole("button", { name: "Copy of the rules in force" }).click()
    await pasteText(page, "version: 1\nrules:\n  - id: login\n    limits: [{ limit: 0, window: 1m }]\n")
    await page.getByText("must be an integer ≥ 1, got 0").first().waitFor()
    await page.getByRole("button", { name: "Replay", exact: true }).click()
    await page.getByRole("alert").filter({ hasText: 'candidate "Copy": 1 mistake' }).waitFor()
  })

  it("keeps drafts and the report while another page is open", async () => {
    const { page } = await open()
    await page.getByRole("button", { name: "Twice every limit" }).click()
    await page.getByRole("textbox", { name: "Name" }).fill("Generous")
    await page.getByRole("button", { name: "Replay", exact: true }).click()
    await page.getByRole("table", { name: "Side by side" }).waitFor()
    await page.getByRole("link", { name: "Playground" }).click()
    await page.getByRole("heading", { level: 1, name: "Playground" }).waitFor()
    await page.goBack()
    await page.getByRole("textbox", { name: "Rules of Generous" }).waitFor()
    await page.getByRole("table", { name: "Side by side" }).getByText("Generous").waitFor()
  })

  it("can be cancelled and started again", async () => {
    const { page } = await open()
    let release = () => {}
    const first = new Promise<void>((resolve) => {
      release = resolve
    })
    let held: Promise<void> | undefined = first
    await page.route("**/replay", async (route) => {
      const wait = held
      held = undefined
      await wait
      await route.continue().catch(() => {})
    })
    await page.getByRole("button", { name: "Replay", exact: true }).click()
    await page.getByText("Sending and replaying").waitFor()
    await page.getByRole("button", { name: "Cancel" }).click()
    await page.getByRole("button", { name: "Cancel" }).waitFor({ state: "detached" })
    release()
    await page.getByRole("button", { name: "Replay", exact: true }).click()
    await page.getByRole("table", { name: "Side by side" }).waitFor()
  })

  it("reads the values of its chart with the arrow keys", async () => {
    const { page } = await open()
    await page.getByRole("button", { name: "Replay", exact: true }).click()
    const chart = page.getByRole("slider", { name: "Denied per 2 minutes" })
    await chart.focus()
    const last = Number(await chart.getAttribute("aria-valuemax"))
    expect(last).toBeGreaterThan(100)
    await page.keyboard.press("ArrowLeft")
    await expect.poll(() => chart.getAttribute("aria-valuenow")).toBe(String(last))
    await page.keyboard.press("ArrowLeft")
    await expect.poll(() => chart.getAttribute("aria-valuenow")).toBe(String(last - 1))
    expect(await chart.getAttribute("aria-valuetext")).toMatch(
      /^Oct 12, 13:\d\d:\d\d: Requests: \d+, Denied: In force: \d+$/,
    )
  })

  it.each(["light", "dark"] as const)(
    "has no serious accessibility violation in %s, with a result",
    async (theme) => {
      const { page, errors } = await open({ theme })
      await page.getByRole("button", { name: "Copy of the rules in force" }).click()
      await page.getByRole("button", { name: "Replay", exact: true }).click()
      await page.getByRole("table", { name: "Side by side" }).waitFor()
      expect(await violations(page)).toEqual([])
      expect(errors).toEqual([])
    },
  )

  it("fits a phone, in Chinese", async () => {
    const { page, errors } = await open({ width: 360, language: "zh-CN" })
    await page.getByRole("button", { name: "回放", exact: true }).click()
    await page.getByRole("table", { name: "并排比较" }).waitFor()
    expect(await isTooWide(page)).toBe(false)
    await picture(page, "replay-phone-zh")
    expect(errors).toEqual([])
  })
})

it("tells a reader why a replay is not available", async () => {
  const token = "reader-token-of-16+"
  const own = await startTestService({
    config: { control: { tokens: [{ name: "r", role: "reader", token }] } },
  })
  try {
    const { page } = await openPage(`${own.url}/#/replay`)
    await page.getByLabel("Token").fill(token)
    await page.keyboard.press("Enter")
    await page.getByText("requires a token with the role editor").waitFor()
    expect(await page.getByRole("button", { name: "Replay", exact: true }).count()).toBe(0)
  } finally {
    await closePages()
    await own.close()
  }
})
