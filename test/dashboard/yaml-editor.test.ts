// The YAML editor of rules in a real browser. It is CodeMirror in a shadow root, which Playwright's locators see into.

import { afterEach, beforeAll, beforeEach, describe, expect, it, vi } from "vitest"
import { eventually } from "../support/eventually.js"
import {
  closePages,
  editorText,
  type OpenPage,
  openPage,
  type Page,
  pasteText,
  type View,
  violations,
} from "./browser.js"
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
  readonly mode?: string
}

const open = (path: string, view: View = {}): Promise<OpenPage> =>
  openPage(`${server.url}/#/rules${path}`, view)

/** Opens the YAML of the rule `login`, with the cursor at the end. */
async function openYaml(view: View = {}, yaml = "YAML"): Promise<OpenPage> {
  const opened = await open("/rule/login", view)
  await opened.page.getByText(yaml, { exact: true }).click()
  await opened.page.locator(".cm-content").click()
  await opened.page.keyboard.press("Control+End")
  return opened
}

const suggestions = (page: Page) => page.getByRole("listbox", { name: "Suggestions" }).getByRole("option")
const hasFocus = (page: Page) => page.locator(".cm-content").evaluate((content) => content.matches(":focus"))
/** The text of the line that has the cursor. */
const currentLine = (page: Page) =>
  page.locator(".cm-content").evaluate((content) => {
    const root = content.getRootNode() as ShadowRoot & { getSelection?(): Selection | null }
    const selection = root.getSelection?.() ?? getSelection()
    const node = selection?.anchorNode
    const element = node instanceof Element ? node : node?.parentElement
    return element?.closest(".cm-line")?.textContent
  })

async function save(page: Page): Promise<void> {
  await page.getByRole("button", { name: "Review and save" }).click()
  await page.getByRole("dialog").getByRole("button", { name: "Save" }).click()
}

describe("the chunk with CodeMirror", () => {
  it("is loaded when somebody edits YAML, and not before", async () => {
    const { page, errors } = await openPage(server.url)
    const loaded: string[] = []
    page.on("request", (request) => loaded.push(request.url()))
    await page.reload()
    for (const name of ["Rules", "Try it", "Clients", "Playground", "Replay"]) {
      await page.getByRole("navigation").getByRole("link", { name }).click()
      await page.getByRole("heading", { level: 1, name }).waitFor()
    }
    await page.goto(`${server.url}/#/rules/rule/login`)
    await page.getByLabel("Description").waitFor()
    const isEditor = (url: string) => /code-mirror/.test(url)
    expect(loaded.filter(isEditor)).toEqual([])
    await page.getByText("YAML", { exact: true }).click()
    await page.locator(".cm-content").waitFor()
    expect(loaded.filter(isEditor)).toHaveLength(1)
    expect(errors).toEqual([])
  })

  it("can be loaded again after a failure", async () => {
    const { page } = await open("/rule/login")
    await page.route("**/code-mirror-*.js", (route) => route.abort())
    await page.getByText("YAML", { exact: true }).click()
    const retry = page.getByRole("button", { name: "Try again" })
    await retry.waitFor()
    await page.unroute("**/code-mirror-*.js")
    await eventually(async () => {
      if ((await retry.count()) > 0) await retry.click()
      return (await page.locator(".cm-content").count()) > 0
    })
  })
})

describe("completion", () => {
  it("completes field names and values from the schema with the keyboard", async () => {
    const { page, errors } = await openYaml()
    await page.keyboard.type("mo")
    await suggestions(page).filter({ hasText: "mode" }).first().waitFor()
    await page.locator(".cm-content[aria-activedescendant]").waitFor()
    expect(
      await suggestions(page)
        .and(page.getByRole("option", { selected: true }))
        .innerText(),
    ).toContain("mode")
    expect(await violations(page)).toEqual([])
    await page.keyboard.press("Enter")
    await suggestions(page).getByText("enforce", { exact: true }).waitFor()
    await page.keyboard.press("ArrowDown")
    await page.keyboard.press("Tab")
    expect(await editorText(page)).toMatch(/\nmode: shadow$/)
    expect(await suggestions(page).count()).toBe(0)
    await save(page)
    await page.getByText("login is saved and in force.").waitFor()
    expect(((await server.ask("GET", "/rules/login")) as Rule).mode).toBe("shadow")
    expect(errors).toEqual([])
  })

  it("opens with Ctrl+Space and closes with Escape", async () => {
    const { page } = await openYaml()
    await page.keyboard.press("Control+Space")
    await suggestions(page).filter({ hasText: "replaces" }).first().waitFor()
    await page.keyboard.press("Escape")
    await suggestions(page).first().waitFor({ state: "detached" })
    expect(await hasFocus(page)).toBe(true)
  })

  it("knows the ids of other rules", async () => {
    const { page } = await openYaml()
    await page.keyboard.type("replaces: [sea")
    await suggestions(page).filter({ hasText: "search" }).first().waitFor()
  })

  it("indents the line below a field", async () => {
    const { page } = await openYaml()
    await page.keyboard.type("response:\nstatus: 503\nbody: x")
    expect(await editorText(page)).toMatch(/response:\n {2}status: 503\n {2}body: x$/)
  })
})

describe("mistakes", () => {
  it("are marked at their line, and the list below leads there", async () => {
    const { page, errors } = await openYaml()
    await page.keyboard.type("limts: 1")
    await page.getByText("limts does not exist; did you mean limits?").waitFor()
    const line = (await editorText(page)).split("\n").length
    await page.locator(".cm-lint-marker-error").waitFor()
    expect(await page.locator(".cm-lintRange-error").innerText()).toBe("limts:")
    expect(await page.locator(".cm-content").getAttribute("aria-invalid")).toBe("true")
    await page.keyboard.press("Escape")
    await page.keyboard.press("Control+Home")
    await page.getByRole("button", { name: `Line ${line}` }).click()
    expect(await hasFocus(page)).toBe(true)
    await eventually(async () => (await currentLine(page)) === "limts: 1")
    expect(await page.getByRole("button", { name: "Review and save" }).isEnabled()).toBe(false)
    expect(await violations(page)).toEqual([])
    expect(errors).toEqual([])
  })

  it("in the YAML syntax are marked at their line too", async () => {
    const { page } = await openYaml()
    await pasteText(page, "id: login\nlimits: unlimited\ndescription: [\n")
    await page.locator(".cm-lint-marker-error").waitFor()
    await page
      .getByRole("button", { name: /^Line \d/ })
      .first()
      .waitFor()
    await pasteText(page, "id: login\nlimits: unlimited\n")
    await page.getByText("Ready to save.").waitFor()
    expect(await page.locator(".cm-lint-marker-error").count()).toBe(0)
  })

  it("are reached from the save bar", async () => {
    const { page } = await openYaml()
    await page.keyboard.type("limts: 1")
    await page.locator(".rules-save").getByRole("button", { name: "1 mistake" }).click()
    await eventually(async () => (await currentLine(page)) === "limts: 1")
  })
})

describe("search", () => {
  it("finds, selects and replaces text", async () => {
    const { page, errors } = await openYaml()
    await page.keyboard.press("Control+f")
    const find = page.getByRole("textbox", { name: "Find" })
    await find.pressSequentially("login")
    await page.locator(".cm-searchMatch").first().waitFor()
    await find.press("Enter")
    await page.locator(".cm-searchMatch-selected").waitFor()
    expect(await page.locator(".cm-searchMatch-selected").innerText()).toBe("login")
    expect(await violations(page)).toEqual([])
    await page.getByRole("textbox", { name: "Replace" }).pressSequentially("signin")
    await page.getByRole("button", { name: "replace all" }).click()
    expect(await editorText(page)).toContain("id: signin")
    await page.getByRole("button", { name: "close" }).click()
    expect(await page.locator(".cm-search").count()).toBe(0)
    expect(errors).toEqual([])
  })
})

describe("folding", () => {
  it("folds and unfolds a rule of the set from the gutter and with the keyboard", async () => {
    const { page, errors } = await open("/set")
    await page.locator(".cm-content").click()
    const before = await editorText(page)
    await page.locator(".cm-foldGutter").getByText("⌄").nth(1).click()
    await page.locator(".cm-foldPlaceholder").waitFor()
    expect((await editorText(page)).length).toBeLessThan(before.length)
    expect(await violations(page)).toEqual([])
    await page.locator(".cm-foldPlaceholder").click()
    expect(await editorText(page)).toBe(before)
    await page.keyboard.press("Control+Alt+[")
    await page.locator(".cm-foldPlaceholder").first().waitFor()
    await page.keyboard.press("Control+Alt+]")
    expect(await editorText(page)).toBe(before)
    expect(errors).toEqual([])
  })
})

describe("undo", () => {
  it("takes back and repeats what was typed, and takes back a discard", async () => {
    const { page } = await openYaml()
    const before = await editorText(page)
    await page.keyboard.type("# a comment")
    const typed = await editorText(page)
    await page.keyboard.press("Control+z")
    expect(await editorText(page)).toBe(before)
    await page.keyboard.press("Control+y")
    expect(await editorText(page)).toBe(typed)
    await page.getByRole("button", { name: "Discard" }).click()
    await eventually(async () => (await editorText(page)) === before)
    await page.locator(".cm-content").click()
    await page.keyboard.press("Control+z")
    expect(await editorText(page)).toBe(typed)
  })
})

describe("the keyboard", () => {
  it("types over a selection of several lines without violating the policy of the page", async () => {
    const { page, errors } = await openYaml()
    await page.keyboard.press("Control+a")
    await page.keyboard.type("id: login")
    expect(await editorText(page)).toBe("id: login")
    await page.keyboard.press("Control+a")
    await page.keyboard.press("Backspace")
    expect(await editorText(page)).toBe("")
    expect(errors).toEqual([])
  })

  it("indents with Tab, outdents with Shift+Tab, and leaves with Escape, then Tab", async () => {
    const { page } = await openYaml()
    const before = await editorText(page)
    await page.keyboard.press("Tab")
    expect(await editorText(page)).toBe(`${before}  `)
    await page.keyboard.press("Shift+Tab")
    expect(await editorText(page)).toBe(before)
    expect(await hasFocus(page)).toBe(true)
    await page.keyboard.press("Escape")
    await page.keyboard.press("Tab")
    expect(await hasFocus(page)).toBe(false)
    expect(await editorText(page)).toBe(before)
  })

  it("is explained below the text, also to screen readers", async () => {
    const { page } = await openYaml()
    const explained = await page.locator(".cm-content").evaluate((content) => {
      const id = content.getAttribute("aria-describedby") ?? ""
      return (content.getRootNode() as ShadowRoot).getElementById(id)?.textContent
    })
    expect(explained).toContain("Escape, then Tab: leave the editor")
    await page.getByRole("textbox", { name: "YAML" }).waitFor()
  })
})

describe("themes and languages", () => {
  it("follow the page while the editor is open", async () => {
    const { page, errors } = await openYaml()
    const colours = () =>
      page.locator(".cm-editor").evaluate((editor) => {
        const { color, backgroundColor } = getComputedStyle(editor)
        return [color, backgroundColor]
      })
    const light = await colours()
    expect(light).toEqual(["rgb(22, 36, 42)", "rgb(255, 255, 255)"])
    await page.emulateMedia({ colorScheme: "dark" })
    expect(await colours()).toEqual(["rgb(228, 236, 239)", "rgb(21, 29, 33)"])
    await page.getByRole("combobox", { name: "Language" }).selectOption("zh")
    await page.getByText("先按 Escape 再按 Tab：离开编辑器").waitFor()
    await page.locator(".cm-content").click()
    await page.keyboard.press("Control+f")
    await page.getByRole("textbox", { name: "查找" }).waitFor()
    expect(await violations(page)).toEqual([])
    expect(errors).toEqual([])
  })
})

describe("form and YAML", () => {
  it("show the same rule once the YAML is valid", async () => {
    const { page } = await openYaml()
    await page.keyboard.type("description2: x")
    await page.getByText("1 mistake").first().waitFor()
    await page.getByText("Form", { exact: true }).click()
    await page.getByText("Correct the mistakes first").waitFor()
    await pasteText(page, "id: login\ndescription: Typed as YAML # a comment\nlimits: unlimited\n")
    await page.getByText("Ready to save.").waitFor()
    await page.getByText("Form", { exact: true }).click()
    expect(await page.getByLabel("Description").inputValue()).toBe("Typed as YAML")
    expect(await page.getByLabel("Unlimited").isChecked()).toBe(true)
  })

  it("keep the id of a rule", async () => {
    const { page } = await openYaml()
    await pasteText(page, "id: signin\nlimits: unlimited\n")
    await page.getByText("id cannot change").waitFor()
    expect(await page.getByRole("button", { name: "Review and save" }).isEnabled()).toBe(false)
  })
})

describe("the whole set as YAML", () => {
  it("is saved as it was typed", async () => {
    const { page, errors } = await open("/set")
    await page.locator(".cm-content").waitFor()
    const before = await editorText(page)
    await pasteText(page, `${before}deny: ["user:mallory"]\n`)
    await page.getByRole("button", { name: "Review and save" }).click()
    const dialog = page.getByRole("dialog")
    expect(await dialog.locator("tr.added").innerText()).toContain('deny: ["user:mallory"]')
    await dialog.getByRole("button", { name: "Save" }).click()
    await page.getByText("The rule set is saved and in force.").waitFor()
    expect(await server.ask("GET", "/lists/deny")).toEqual(["user:mallory"])
    expect(errors).toEqual([])
  })
})
