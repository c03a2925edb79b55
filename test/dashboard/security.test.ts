// Pages show text from other people (a description, the name of a client, a line of a log) as text,
// never as markup.

import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from "vitest"
import { hashToken } from "../../packages/server/src/http/tokens.js"
import { closePages, type OpenPage, openPage, type Page, pasteText } from "./browser.js"
import { buildPage, startTestService, type TestService } from "./test-service.js"

vi.setConfig({ testTimeout: 60_000 })

/** Runs in a page that inserts text as markup and allows inline handlers. */
const MARKUP = '<img src=x onerror="window.hurt=1">'
const SCRIPT = '"><script>window.hurt=1</script>'
/** The name of the user, which every page shows. */
const NAME = `${MARKUP} the admin`
const TOKEN = "security-token-of-16+"

const RULES = {
  version: 1,
  rules: [
    {
      id: "login",
      description: MARKUP,
      match: { path: "/login" },
      keyBy: "user",
      limits: [{ algorithm: "fixed-window", limit: 1, window: "1d" }],
      response: { body: { error: MARKUP } },
    },
  ],
  overrides: [{ client: `user:${SCRIPT}`, rule: "login", limits: [{ limit: 2, window: "1d" }] }],
  deny: [`user:${MARKUP}2`],
}

let server: TestService
beforeAll(async () => {
  buildPage()
  const tokens = [{ name: NAME, role: "admin" as const, hash: hashToken(TOKEN) }]
  server = await startTestService({ token: TOKEN, config: { control: { tokens } } })
  await server.ask("PUT", `/rules?comment=${encodeURIComponent(MARKUP)}`, RULES)
  await server.check({ method: "POST", path: "/login", user: MARKUP }, 5)
}, 60_000)
afterAll(() => server.close())

/** Opens a page as a signed-in user. */
async function open(hash: string): Promise<OpenPage> {
  const opened = await openPage(`${server.url}/docs`)
  await opened.page.evaluate((token) => sessionStorage.setItem("sluice.token", token), TOKEN)
  await opened.page.goto(`${server.url}/${hash}`)
  await opened.page.getByRole("heading", { level: 1 }).waitFor()
  return opened
}

/** Elements and handlers that only injected markup can have created. */
function intruders(page: Page): Promise<string[]> {
  return page.evaluate(() => {
    const found = [
      ...document.querySelectorAll("img, iframe, object, embed, script:not([src]), style, [style*='url']"),
    ]
    const handlers = [...document.querySelectorAll("*")].filter((element) =>
      element.getAttributeNames().some((name) => name.startsWith("on")),
    )
    const links = [...document.querySelectorAll("a")].filter(({ protocol }) => !/^https?:$/.test(protocol))
    const ran = "hurt" in window ? ["a script of a stranger ran"] : []
    return [...[...found, ...handlers, ...links].map(({ outerHTML }) => outerHTML), ...ran]
  })
}

describe("text from other people", () => {
  // One tab for all pages, so that injected elements of one page are found on the next.
  let { page, errors }: OpenPage = {} as OpenPage
  beforeAll(async () => {
    ;({ page, errors } = await open("#/overview"))
  })
  afterAll(closePages)

  const pages: [string, string, string][] = [
    ["the overview", "#/overview", `user:${MARKUP}`],
    ["the rules", "#/rules", MARKUP],
    ["a rule", "#/rules/rule/login", NAME],
    ["all rules as YAML", "#/rules/set", NAME],
    ["the history of the rules", "#/rules/history", MARKUP],
    ["a rule that is not there", `#/rules/rule/${encodeURIComponent(MARKUP)}`, `There is no rule ${MARKUP}`],
    ["the clients", "#/clients", `user:${MARKUP}`],
    ["a key", `#/clients/login/${encodeURIComponent(`user:${MARKUP}`)}`, `user:${MARKUP}`],
    ["trying it", `#/try?path=/login&user=${encodeURIComponent(MARKUP)}`, `user:${MARKUP}`],
    ["the playground", `#/playground?shape=${encodeURIComponent(MARKUP)}`, NAME],
    ["the replay", "#/replay", NAME],
    ["a page that does not exist", `#/${encodeURIComponent(MARKUP)}`, NAME],
  ]

  it.each(pages)("is text on %s", async (_, hash, shown) => {
    await page.goto(`${server.url}/${hash}`)
    await page.getByRole("heading", { level: 1 }).waitFor()
    await page.getByText(shown, { exact: true }).first().waitFor()
    expect(await intruders(page)).toEqual([])
    expect(errors).toEqual([])
  })

  it("is text in log lines and file names", async () => {
    await page.goto(`${server.url}/#/replay`)
    await page.reload()
    await page.getByText("Log file").click()
    const line = `192.0.2.9 - ${MARKUP.replaceAll(/[ "]/g, "_")} [01/Jan/2026:10:00:00 +0000] "POST /login HTTP/1.1" 200 5 "-" "${SCRIPT.replaceAll('"', "'")}"\n`
    await page.getByLabel("Access log").setInputFiles({
      name: `${MARKUP.replaceAll("/", "")}.log`,
      mimeType: "text/plain",
      buffer: Buffer.from(`${line.repeat(9)}${MARKUP}\n`),
    })
    await page.getByText(`${MARKUP}.log`).waitFor()
    await page.getByRole("button", { name: "Copy of the rules in force" }).click()
    await page.getByRole("textbox", { name: "Name" }).fill(SCRIPT)
    await page.getByRole("button", { name: "Replay", exact: true }).click()
    await page.getByRole("table", { name: "Denied clients" }).getByText("<img_src=x").waitFor()
    await page.locator("summary").filter({ hasText: "Unreadable lines" }).click()
    await page.getByRole("table", { name: "Unreadable lines" }).getByText(MARKUP).waitFor()
    await page.getByRole("table", { name: "Side by side" }).getByText(SCRIPT).waitFor()
    expect(await intruders(page)).toEqual([])
    expect(errors).toEqual([])
  })

  it("is text in the error messages of the service", async () => {
    await page.goto(`${server.url}/#/replay`)
    await page.reload()
    await page.getByRole("button", { name: "Copy of the rules in force" }).click()
    await pasteText(page, `version: 1\nrules:\n  - id: '${MARKUP}'\n    limits: unlimited\n`)
    await page.getByRole("button", { name: "Replay", exact: true }).click()
    await page
      .getByRole("alert")
      .filter({ hasText: `rule "${MARKUP}": id must be` })
      .waitFor()
    expect(await intruders(page)).toEqual([])
    expect(errors).toEqual([])
  })
})

describe("the page", () => {
  afterEach(closePages)

  it("has nothing inline (no script, style or handler) and no address of another host", async () => {
    const text = await (await fetch(server.url)).text()
    expect(text).toContain("<script")
    expect(text).not.toMatch(/<script(?![^>]*\ssrc=)|<style|\sstyle=|\son\w+=|https?:|data:/i)
  })

  it("does not run injected inline code, and the test would notice it", async () => {
    const { page, errors } = await open("#/overview")
    await page.evaluate((markup) => document.body.insertAdjacentHTML("beforeend", markup), MARKUP)
    await vi.waitFor(() => expect(errors.join("\n")).toContain("policy: script-src-attr"))
    expect(await intruders(page)).toHaveLength(2)
    expect(await page.evaluate(() => "hurt" in window)).toBe(false)
  })

  it("cannot ask another host, and the test would notice it", async () => {
    const { page, errors } = await open("#/overview")
    const asked = await page.evaluate(() =>
      fetch("http://192.0.2.1/")
        .then(() => "asked")
        .catch(() => "refused"),
    )
    expect(asked).toBe("refused")
    await vi.waitFor(() => expect(errors.join("\n")).toContain("policy: connect-src"))
  })
})
