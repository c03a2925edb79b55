import { afterEach, beforeAll, beforeEach, describe, expect, it, vi } from "vitest"
import { eventually } from "../support/eventually.js"
import { closePages, openPage, type Page, violations } from "./browser.js"
import { buildPage, startTestService, type TestService } from "./test-service.js"

vi.setConfig({ testTimeout: 60_000 })

const RULES = `
version: 1
rules:
  - id: login
    match: { path: /login }
    keyBy: ip
    limits: [{ algorithm: fixed-window, limit: 5, window: 1h }]
  - id: log
    match: { path: /log }
    keyBy: ip
    limits: [{ algorithm: sliding-window-log, limit: 9, window: 1m }]
  - id: strict
    match: { path: /strict }
    keyBy: ip
    limits: [{ name: tries, limit: 1, window: 1h, penalty: { after: 2, within: 1h, block: 2h } }]
  - id: everybody
    match: { path: /all }
    keyBy: global
    limits: [{ limit: 10, window: 1m }]
`
const KEY = "ip:192.0.2.1"
const SIGN_IN = { method: "POST", path: "/login", ip: "192.0.2.1" }

let server: TestService

beforeAll(buildPage, 120_000)
beforeEach(async () => {
  server = await startTestService({ rules: RULES })
})
afterEach(async () => {
  await closePages()
  await server.close()
})

async function lookAtKey(): Promise<Page> {
  const { page } = await openPage(`${server.url}/#/clients/login/${encodeURIComponent(KEY)}`)
  await page.getByRole("heading", { level: 1, name: KEY }).waitFor()
  return page
}

interface KeyState {
  readonly allowed: boolean
  readonly blockedForMs?: number
  readonly limits: readonly { readonly limit: number; readonly remaining: number }[]
}

const keyState = () => server.ask("GET", `/keys/login/${encodeURIComponent(KEY)}`) as Promise<KeyState>

describe("the busiest keys", () => {
  it("are listed by their denied and allowed requests, with links to their pages", async () => {
    await server.check(SIGN_IN, 12)
    await server.check({ ...SIGN_IN, ip: "192.0.2.2" }, 6)
    const { page, errors } = await openPage(`${server.url}/#/clients`)
    const denied = page.getByRole("region", { name: "Most denied" }).getByRole("row")
    await denied.nth(2).waitFor()
    expect(await denied.allTextContents()).toEqual(["KeyRuleRequests", `${KEY}login7`, "ip:192.0.2.2login1"])
    await denied.getByRole("link", { name: KEY }).click()
    await page.getByRole("heading", { level: 1, name: KEY }).waitFor()
    expect(errors).toEqual([])
  })

  it("are explained while there are none", async () => {
    const { page } = await openPage(`${server.url}/#/clients`)
    await page.getByRole("heading", { name: "Nobody was denied recently" }).waitFor()
  })

  it("are not needed to find a key", async () => {
    const { page } = await openPage(`${server.url}/#/clients`)
    await page.getByRole("combobox", { name: "Rule" }).selectOption("login")
    await page.getByRole("textbox", { name: "Key" }).fill(KEY)
    await page.keyboard.press("Enter")
    await page.getByText("0 of 5 used").waitFor()
  })
})

describe("the blocked keys", () => {
  it("are listed with the reason, and a button sets them free, by keyboard too", async () => {
    await server.check({ ...SIGN_IN, path: "/strict" }, 3)
    await server.ask("POST", "/keys/login/ip%3A192.0.2.7/block", { duration: "1h" })
    const { page, errors } = await openPage(`${server.url}/#/clients`)
    const rows = page.getByRole("region", { name: "Blocked" }).getByRole("row")
    await rows.nth(2).waitFor()
    const [head, byPenalty, byHand] = await rows.allTextContents()
    expect(head).toBe("KeyRuleWhySinceFor anotherAction")
    expect(byPenalty).toMatch(/^ip:192\.0\.2\.1stricttries: 2 denials.+(hours|minutes)End the block$/)
    expect(byHand).toMatch(/^ip:192\.0\.2\.7loginblocked by hand.+(hour|minutes)End the block$/)
    expect(await violations(page)).toEqual([])
    await page.getByRole("button", { name: "End the block of ip:192.0.2.1" }).focus()
    await page.keyboard.press("Enter")
    await page.getByText("The key is no longer blocked.").waitFor()
    await eventually(async () => (await rows.count()) === 2)
    expect(await server.ask("GET", "/blocks")).toMatchObject({ blocks: [{ key: "ip:192.0.2.7" }] })
    expect(errors).toEqual([])
  })

  it("have Chinese texts", async () => {
    await server.check({ ...SIGN_IN, path: "/strict" }, 3)
    const { page } = await openPage(`${server.url}/#/clients`, { language: "zh-CN" })
    await page.getByRole("cell", { name: "tries：被拒绝 2 次" }).waitFor()
    await page.getByRole("button", { name: "解除对 ip:192.0.2.1 的封禁" }).waitFor()
  })
})

describe("a key", () => {
  it("shows the current usage of each limit", async () => {
    await server.check(SIGN_IN, 2)
    const page = await lookAtKey()
    await page.getByText("2 of 5 used").waitFor()
    await page.getByText("window 1 h").waitFor()
    await page.getByText("units by bucket of 1 h, newest first: 2").waitFor()
    await page.getByText("allowed", { exact: true }).waitFor()
    await server.check(SIGN_IN, 3)
    await page.getByText("5 of 5 used").waitFor()
    await page.getByText("limit reached", { exact: true }).waitFor()
    // The chart shows the lower usage of a moment ago.
    const chart = page.getByRole("slider", { name: "Usage of each limit" })
    await eventually(async () => (await chart.getAttribute("aria-valuetext"))?.includes("100%"))
    await chart.focus()
    await eventually(async () => {
      await page.keyboard.press("ArrowLeft")
      return (await chart.getAttribute("aria-valuetext"))?.includes("40%")
    })
  })

  it("shows when the oldest and the newest charge of a log were made", async () => {
    await server.check({ path: "/log", ip: "192.0.2.1" }, 2)
    const { page } = await openPage(`${server.url}/#/clients/log/${encodeURIComponent(KEY)}`)
    await page.getByText("2 of 9 used").waitFor()
    await page.getByText(/^oldest charge: (now|\d+ seconds? ago); newest: (now|\d+ seconds? ago)$/).waitFor()
    expect(await violations(page)).toEqual([])
  })

  it("is reset with one click", async () => {
    await server.check(SIGN_IN, 5)
    const page = await lookAtKey()
    await page.getByText("5 of 5 used").waitFor()
    await page.getByRole("button", { name: "Reset" }).click()
    await page.getByText("0 of 5 used").waitFor()
    expect((await keyState()).limits[0]?.remaining).toBe(5)
  })

  it("is blocked for the chosen time, and can be unblocked", async () => {
    const page = await lookAtKey()
    await page.getByRole("button", { name: "Block" }).click()
    const dialog = page.getByRole("dialog", { name: "Block this key" })
    await dialog.getByLabel("For how long").selectOption("1 hour")
    expect(await violations(page)).toEqual([])
    await dialog.getByRole("button", { name: "Block" }).click()
    await page.getByText("blocked", { exact: true }).waitFor()
    const { allowed, blockedForMs } = await keyState()
    expect(allowed).toBe(false)
    expect(blockedForMs).toBeGreaterThan(3_500_000)
    await page.getByRole("button", { name: "End the block" }).click()
    await page.getByText("allowed", { exact: true }).waitFor()
    expect((await keyState()).blockedForMs).toBeUndefined()
  })

  it("is not blocked if Escape closes the dialog, which returns the focus", async () => {
    const page = await lookAtKey()
    await page.getByRole("button", { name: "Block" }).focus()
    await page.keyboard.press("Enter")
    await page.getByRole("dialog").waitFor()
    await page.keyboard.press("Escape")
    await page.getByRole("dialog").waitFor({ state: "detached" })
    expect(await page.evaluate(() => document.activeElement?.textContent)).toBe("Block")
    expect((await keyState()).allowed).toBe(true)
  })
})

describe("an override", () => {
  async function saveOverride(page: Page, limit: string): Promise<void> {
    await page.getByRole("button", { name: "Override" }).click()
    const dialog = page.getByRole("dialog")
    await dialog.getByLabel("5/1h: limit").fill(limit)
    await dialog.getByLabel("Comment").fill("as agreed")
    await dialog.getByRole("button", { name: "Save" }).click()
  }

  it("gives a client its own limits at once, and can be removed", async () => {
    const page = await lookAtKey()
    await saveOverride(page, "50")
    // The state and its chart also name the limit, once they are loaded again.
    await page.getByRole("listitem").filter({ hasText: "login 50/1h" }).waitFor()
    await page.getByText("0 of 50 used").waitFor()
    const [revision] = (await server.ask("GET", "/rules/revisions")) as { comment: string }[]
    expect(revision?.comment).toBe("as agreed")
    await page.getByRole("button", { name: "Remove" }).click()
    await page.getByText("None. The limits of the rule apply.").waitFor()
    await page.getByText("0 of 5 used").waitFor()
    expect(await server.ask("GET", "/overrides")).toEqual([])
  })

  it("can be removed without removing others", async () => {
    const other = { client: KEY, rule: "everybody", limits: "unlimited" }
    await server.ask("POST", "/overrides", other)
    const page = await lookAtKey()
    await saveOverride(page, "50")
    await page
      .getByRole("listitem")
      .filter({ hasText: "50/1h" })
      .getByRole("button", { name: "Remove" })
      .click()
    await eventually(async () => ((await server.ask("GET", "/overrides")) as unknown[]).length === 1)
    expect(await server.ask("GET", "/overrides")).toEqual([other])
  })

  it("does not overwrite the change of somebody else unseen", async () => {
    const page = await lookAtKey()
    await page.getByRole("button", { name: "Override" }).waitFor()
    await server.ask("PATCH", "/rules/login", { description: "meanwhile" })
    await saveOverride(page, "50")
    await page.getByText("Somebody else changed the rules, so nothing was saved.", { exact: false }).waitFor()
    expect(await server.ask("GET", "/overrides")).toEqual([])
    await page.getByRole("dialog").getByRole("button", { name: "Save" }).click()
    await page.getByText("0 of 50 used").waitFor()
  })

  it("shows the mistakes that the service reports", async () => {
    const page = await lookAtKey()
    await page.getByRole("button", { name: "Override" }).click()
    await page.getByLabel("5/1h: window").fill("soon")
    await page.getByRole("button", { name: "Save" }).click()
    await page.getByText("limits[0].window must be", { exact: false }).first().waitFor()
    expect(await server.ask("GET", "/overrides")).toEqual([])
  })

  it("is not offered for a key that does not identify a client", async () => {
    const { page } = await openPage(`${server.url}/#/clients/everybody/global`)
    await page.getByText("This key does not identify a single client", { exact: false }).waitFor()
  })
})
