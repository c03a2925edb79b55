import { afterEach, beforeAll, beforeEach, describe, expect, it, vi } from "vitest"
import { closePages, type OpenPage, openPage, type Page, picture, type View } from "./browser.js"
import { buildPage, EXAMPLE_RULES, startTestService, type TestService } from "./test-service.js"

vi.setConfig({ testTimeout: 60_000 })

let server: TestService
beforeAll(() => buildPage(), 60_000)
beforeEach(async () => {
  server = await startTestService({ rules: EXAMPLE_RULES })
})
afterEach(async () => {
  await closePages()
  await server.close()
})

interface Rule {
  readonly id: string
  readonly mode?: string
  readonly description?: string
  readonly limits: readonly { readonly limit: number }[]
}

const rule = async (id: string) => (await server.ask("GET", `/rules/${id}`)) as Rule
const revisions = async () =>
  (await server.ask("GET", "/rules/revisions")) as { revision: number; comment?: string }[]

const open = (path: string, view: View = {}): Promise<OpenPage> =>
  openPage(`${server.url}/#/rules${path}`, view)

/** Opens the list of rules and waits until it is loaded. */
async function openList(): Promise<OpenPage> {
  const opened = await open("")
  await opened.page.getByRole("link", { name: "login" }).waitFor()
  return opened
}

async function review(page: Page): Promise<ReturnType<Page["getByRole"]>> {
  await page.getByRole("button", { name: "Review and save" }).click()
  return page.getByRole("dialog")
}

describe("the list of rules", () => {
  it("shows each rule with its mode, and searches them", async () => {
    const { page, errors } = await openList()
    const rows = page.getByRole("row")
    await page.getByText("3 rules", { exact: true }).waitFor()
    expect(await rows.filter({ hasText: "search" }).innerText()).toContain("shadow")
    await page.getByRole("searchbox").fill("post 15m")
    await page.getByText("1 of 3 rules").waitFor()
    expect(await rows.count()).toBe(2)
    await page.getByRole("searchbox").fill("nothing like it")
    await page.getByRole("button", { name: "Show all rules" }).click()
    await page.getByText("3 rules", { exact: true }).waitFor()
    expect(errors).toEqual([])
  })

  it("shows the last minute of each rule, live", async () => {
    const { page } = await openList()
    await page.getByText("Live", { exact: true }).waitFor()
    await server.check({ method: "POST", path: "/login", ip: "192.0.2.1" }, 9)
    await page.getByRole("img", { name: "5 allowed, 4 denied in the last minute" }).waitFor()
  })

  it("enforces a rule in shadow mode with one click", async () => {
    const { page } = await openList()
    await page.getByRole("button", { name: "Enforce search now" }).click()
    await page.getByText("search is now enforced.").waitFor()
    expect((await rule("search")).mode).toBe("enforce")
    await page.getByText("Revision 2").waitFor()
    expect(await page.getByRole("button", { name: "Enforce search now" }).count()).toBe(0)
  })

  it("enforces the candidate limits of a rule with one click", async () => {
    await server.ask("PATCH", "/rules/login", { candidate: { limits: [{ limit: 3, window: "15m" }] } })
    const { page } = await openList()
    await page.getByRole("button", { name: "Enforce the candidate limits of login now" }).click()
    await page.getByText("login is now enforced.").waitFor()
    expect(await rule("login")).toMatchObject({ limits: [{ limit: 3 }] })
    expect(await rule("login")).not.toHaveProperty("candidate")
  })

  it("follows the changes of others", async () => {
    const { page } = await openList()
    await page.getByText("Live", { exact: true }).waitFor()
    await server.ask("PATCH", "/rules/login", { description: "Changed by somebody else" })
    await page.getByText("Changed by somebody else").waitFor()
  })

  it("tells what to do when there are no rules", async () => {
    await server.ask("PUT", "/rules", { version: 1, rules: [] })
    const { page } = await open("")
    await page.getByRole("heading", { name: "No rules yet" }).waitFor()
    expect(await page.getByRole("link", { name: "New rule" }).count()).toBe(2)
  })
})

describe("the form of a rule", () => {
  it("shows a mistake at its field, and saves a valid rule after a review", async () => {
    const { page, errors } = await open("/rule/login")
    const limit = page.getByLabel("Limit", { exact: true })
    await limit.fill("0")
    await page.getByText("must be an integer ≥ 1, got 0").waitFor()
    expect(await limit.getAttribute("aria-invalid")).toBe("true")
    expect(await page.getByRole("button", { name: "Review and save" }).isEnabled()).toBe(false)
    await limit.fill("7")
    const dialog = await review(page)
    await dialog.getByText("limit: 7").waitFor()
    expect(await dialog.locator("tr.removed").innerText()).toContain("limit: 5")
    await dialog.getByLabel("Comment").fill("as agreed")
    await dialog.getByRole("button", { name: "Save" }).click()
    await page.getByText("login is saved and in force.").waitFor()
    expect((await rule("login")).limits[0]?.limit).toBe(7)
    expect((await revisions())[0]).toMatchObject({ revision: 2, comment: "as agreed" })
    await page.getByText("No changes").waitFor()
    expect(errors).toEqual([])
  })

  it("keeps unsaved changes while another page is open, and marks the rule in the list", async () => {
    const { page } = await open("/rule/login")
    await page.getByLabel("Description").fill("Not finished")
    await page.getByRole("link", { name: "All rules" }).click()
    await page.getByRole("row").filter({ hasText: "login" }).getByText("not saved").waitFor()
    await page.getByRole("link", { name: "login" }).click()
    expect(await page.getByLabel("Description").inputValue()).toBe("Not finished")
    await page.getByRole("button", { name: "Discard" }).click()
    await page.getByRole("link", { name: "All rules" }).click()
    await page.getByText("3 rules", { exact: true }).waitFor()
    expect(await page.getByText("not saved").count()).toBe(0)
  })

  it("tells in the dialog that the service did not save", async () => {
    const { page } = await open("/rule/login")
    await page.getByLabel("Description").fill("Mine")
    const dialog = await review(page)
    await server.stop()
    await dialog.getByRole("button", { name: "Save" }).click()
    await dialog.getByRole("alert").getByText("The service cannot be reached.").waitFor()
    await server.start()
    await dialog.getByRole("button", { name: "Save" }).click()
    await page.getByText("login is saved and in force.").waitFor()
    expect((await rule("login")).description).toBe("Mine")
  })

  it("keeps the fields that it does not show", async () => {
    const { page } = await open("/rule/api")
    await page.getByText("Also set, and kept unchanged: tiers.").waitFor()
    await page.getByLabel("Description").fill("Other words")
    await (await review(page)).getByRole("button", { name: "Save" }).click()
    await page.getByText("api is saved and in force.").waitFor()
    expect(await rule("api")).toMatchObject({ description: "Other words", tiers: { pro: {} } })
  })

  it("chooses what happens if an answer costs more than its estimate", async () => {
    await server.ask("PATCH", "/rules/api", { cost: { estimate: 5, responseHeader: "x-cost" } })
    const { page } = await open("/rule/api")
    await page.getByLabel("If the answer costs more than the estimate").selectOption("charge")
    await (await review(page)).getByRole("button", { name: "Save" }).click()
    await page.getByText("api is saved and in force.").waitFor()
    expect(await rule("api")).toMatchObject({
      cost: { estimate: 5, responseHeader: "x-cost", overdraft: "charge" },
    })
  })

  it("creates a new rule in shadow mode", async () => {
    const { page } = await openList()
    await page.getByRole("link", { name: "New rule" }).click()
    await page.getByLabel("Id").fill("login")
    await page.getByText("is already the id of rules[0]").waitFor()
    await page.getByLabel("Id").fill("uploads")
    await page.getByLabel("Path").fill("/files/**, /bulk")
    await page.getByRole("button", { name: "Add a limit" }).click()
    await page.getByLabel("Limit", { exact: true }).nth(1).fill("5000")
    await page.getByLabel("Window").nth(1).fill("1d")
    await (await review(page)).getByRole("button", { name: "Save" }).click()
    await page.getByRole("heading", { level: 1, name: "uploads" }).waitFor()
    expect(await rule("uploads")).toEqual({
      id: "uploads",
      mode: "shadow",
      match: { path: ["/files/**", "/bulk"] },
      limits: [
        { limit: 100, window: "1m" },
        { limit: 5000, window: "1d" },
      ],
    })
  })

  it("deletes a rule after confirmation, unless something refers to it", async () => {
    await server.ask("POST", "/overrides", { client: "user:1", rule: "login", limits: "unlimited" })
    const { page } = await open("/rule/login")
    await page.getByRole("button", { name: "Delete" }).click()
    const dialog = page.getByRole("dialog")
    await dialog.getByRole("button", { name: "Delete" }).click()
    await dialog.getByRole("alert").getByText("overrides[0].rule").waitFor()
    const heard = page.waitForResponse(`${server.url}/rules`)
    await server.ask("PUT", "/overrides", [])
    await heard
    await dialog.getByRole("button", { name: "Delete" }).click()
    await page.getByText("login is deleted.").waitFor()
    await page.getByText("2 rules", { exact: true }).waitFor()
  })

  it("tells that a rule does not exist", async () => {
    const { page } = await open("/rule/nobody")
    await page.getByRole("heading", { name: "There is no rule nobody" }).waitFor()
  })
})

describe("a change after somebody else saved first", () => {
  const theirs = { description: "Theirs" }

  it("shows who saved what, and can overwrite it", async () => {
    const { page } = await open("/rule/login")
    await page.getByLabel("Description").fill("Mine")
    await server.ask("PATCH", "/rules/login?comment=incident%2042", theirs)
    await page.getByText("Somebody else changed the rules: revision 2 is in force.").waitFor()
    const dialog = await review(page)
    await dialog.getByRole("button", { name: "Save" }).click()
    await dialog.getByRole("heading", { name: "Somebody else saved first" }).waitFor()
    await dialog.getByText("loopback saved revision 2").waitFor()
    await dialog.getByText("incident 42").waitFor()
    await dialog.getByText("They changed the same content.").waitFor()
    await picture(page, "rule-conflict", { fullPage: false })
    expect(await dialog.locator("tr.removed").innerText()).toContain("Theirs")
    expect((await rule("login")).description).toBe("Theirs")
    await dialog.getByRole("button", { name: "Overwrite with mine" }).click()
    await page.getByText("login is saved and in force.").waitFor()
    expect((await rule("login")).description).toBe("Mine")
  })

  it("keeps the change of another rule", async () => {
    const { page } = await open("/rule/login")
    await page.getByLabel("Description").fill("Mine")
    await server.ask("PATCH", "/rules/api", theirs)
    const dialog = await review(page)
    await dialog.getByRole("button", { name: "Save" }).click()
    await dialog.getByText("They did not change this rule. Their changes: changed api").waitFor()
    await dialog.getByRole("button", { name: "Save", exact: true }).click()
    await page.getByText("login is saved and in force.").waitFor()
    expect([(await rule("login")).description, (await rule("api")).description]).toEqual(["Mine", "Theirs"])
  })

  it("is in conflict if any of several revisions changed the same rule", async () => {
    const { page } = await open("/rule/login")
    await page.getByLabel("Description").fill("Mine")
    await server.ask("PATCH", "/rules/login", theirs)
    await server.ask("PATCH", "/rules/api", theirs)
    const dialog = await review(page)
    await dialog.getByRole("button", { name: "Save" }).click()
    await dialog.getByText("saved revision 3").waitFor()
    await dialog.getByText("They changed the same content.").waitFor()
  })

  it("adds a new rule without a conflict", async () => {
    const { page } = await open("/new")
    await page.getByLabel("Id").fill("uploads")
    await server.ask("DELETE", "/rules/search")
    const dialog = await review(page)
    await dialog.getByRole("button", { name: "Save" }).click()
    await dialog.getByText("Their changes: removed search.").waitFor()
    await dialog.getByRole("button", { name: "Save", exact: true }).click()
    await page.getByRole("heading", { level: 1, name: "uploads" }).waitFor()
    expect((await rule("uploads")).mode).toBe("shadow")
  })

  it("can be discarded", async () => {
    const { page } = await open("/rule/login")
    await page.getByLabel("Description").fill("Mine")
    await server.ask("PATCH", "/rules/login", theirs)
    const dialog = await review(page)
    await dialog.getByRole("button", { name: "Save" }).click()
    await dialog.getByRole("button", { name: "Discard mine" }).click()
    await page.getByText("No changes").waitFor()
    expect(await page.getByLabel("Description").inputValue()).toBe("Theirs")
    expect((await revisions()).length).toBe(2)
  })

  it("can create a rule again that they deleted", async () => {
    const { page } = await open("/rule/login")
    await page.getByLabel("Description").fill("Mine")
    await server.ask("DELETE", "/rules/login")
    const dialog = await review(page)
    await dialog.getByRole("button", { name: "Save" }).click()
    await dialog.getByText("They deleted this rule.").waitFor()
    await dialog.getByRole("button", { name: "Overwrite with mine" }).click()
    await page.getByText("login is saved and in force.").waitFor()
    expect((await rule("login")).description).toBe("Mine")
  })
})

describe("the history", () => {
  it("shows who changed what, and rolls back to an earlier revision as a new one", async () => {
    await server.ask("PATCH", "/rules/login?comment=too%20strict", { mode: "off" })
    await server.ask("DELETE", "/rules/search")
    const { page, errors } = await open("/history")
    const row = page.getByRole("row").filter({ hasText: "too strict" })
    expect(await row.innerText()).toContain("changed login")
    await page.getByRole("button", { name: "Compare revision 1" }).click()
    const dialog = page.getByRole("dialog")
    expect(await dialog.locator("tr.removed").allInnerTexts()).toEqual([expect.stringContaining("mode: off")])
    await dialog.getByLabel("Comment").fill("it was a mistake")
    await dialog.getByRole("button", { name: "Roll back to revision 1" }).click()
    await page.getByText("Revision 4 is in force, with the content of revision 1.").waitFor()
    expect((await rule("login")).mode).toBeUndefined()
    await page.getByRole("row").filter({ hasText: "it was a mistake" }).getByText("in force").waitFor()
    expect(errors).toEqual([])
  })
})
