// Opens the dashboard in a real Chromium and collects errors that no page may cause.

import { mkdirSync, readFileSync } from "node:fs"
import { createRequire } from "node:module"
import { fileURLToPath } from "node:url"
import { type Browser, type BrowserContext, chromium, type Locator, type Page } from "playwright-core"
import { toolPath } from "../support/tool.js"

export type { Page } from "playwright-core"

const AXE = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8")
const ARTIFACTS = fileURLToPath(new URL("../../artifacts/dashboard/", import.meta.url))

export interface View {
  readonly theme?: "light" | "dark"
  readonly language?: "en" | "zh-CN"
  /** Default: 1280 × 900. 360 is the narrowest phone. */
  readonly width?: number
  readonly height?: number
  readonly reducedMotion?: boolean
}

/** A page, and its errors so far. */
export interface OpenPage {
  readonly page: Page
  /** Errors in the console, exceptions, violations of the content security policy, and requests to any other host. */
  readonly errors: readonly string[]
}

/** The only tab of a browser context. */
interface Tab {
  readonly context: BrowserContext
  readonly page: Page
  /** A context keeps its language. Everything else of a view can be set in an open tab. */
  readonly language: string
  /** The host that the current test allows, and the errors that it collects. */
  account: { readonly host: string; readonly errors: string[] }
}

const SIZE = { width: 1280, height: 900 }
const LANGUAGE = "en"

let browser: Promise<Browser> | undefined
const tabs = new Set<Tab>()
/** A cleared tab for the next test. A new one takes a second of processor time, most of it for new processes. */
let spare: Tab | undefined

/** Opens `url` in a browser without stored data. */
export async function openPage(url: string, view: View = {}): Promise<OpenPage> {
  const { language = LANGUAGE, width = SIZE.width, height = SIZE.height } = view
  const tab = spare?.language === language ? spare : await openTab(language)
  if (tab === spare) spare = undefined
  tabs.add(tab)
  await tab.page.setViewportSize({ width, height })
  await tab.page.emulateMedia({
    colorScheme: view.theme ?? "light",
    reducedMotion: view.reducedMotion ? "reduce" : "no-preference",
  })
  const errors: string[] = []
  tab.account = { host: new URL(url).host, errors }
  await tab.page.goto(url)
  return { page: tab.page, errors }
}

async function openTab(language: string): Promise<Tab> {
  browser ??= chromium.launch({ executablePath: toolPath("chromium"), args: ["--font-render-hinting=none"] })
  const context = await (await browser).newContext({ locale: language })
  context.on("request", (request) => {
    const asked = new URL(request.url())
    if (asked.host !== tab.account.host && asked.protocol !== "blob:")
      tab.account.errors.push(`asked another host: ${request.url()}`)
  })
  context.on("weberror", (error) => tab.account.errors.push(`exception: ${error.error().message}`))
  context.on("console", (message) => {
    // Chromium logs every error answer, also those that the page handles.
    const isAnswer = /Failed to load resource/.test(message.text())
    if (message.type() === "error" && !isAnswer) tab.account.errors.push(`console: ${message.text()}`)
  })
  // Chromium does not log every violation.
  await context.exposeBinding("sluiceViolation", (_, text: string) => {
    tab.account.errors.push(`policy: ${text}`)
  })
  await context.addInitScript(() => {
    document.addEventListener("securitypolicyviolation", ({ violatedDirective, blockedURI, sample }) => {
      const { sluiceViolation } = window as unknown as { sluiceViolation(text: string): void }
      sluiceViolation(`${violatedDirective} ${blockedURI} ${sample}`)
    })
  })
  const page = await context.newPage()
  // The machine may be busy with other tests.
  page.setDefaultTimeout(40_000)
  const tab: Tab = { context, page, language, account: { host: "", errors: [] } }
  return tab
}

/** Call it after each test. */
export async function closePages(): Promise<void> {
  const used = [...tabs]
  tabs.clear()
  const [kept, ...others] = [
    ...used.filter(({ language }) => language === LANGUAGE),
    ...used.filter(({ language }) => language !== LANGUAGE),
  ]
  await Promise.all(others.map(({ context }) => context.close()))
  if (kept === undefined) return
  if (kept.language === LANGUAGE && spare === undefined && (await isWiped(kept))) spare = kept
  else await kept.context.close()
}

/** Clears everything that a test left in a tab. False if that fails, as on a page that did not load. */
async function isWiped({ context, page }: Tab): Promise<boolean> {
  try {
    await page.unrouteAll({ behavior: "ignoreErrors" })
    await page.evaluate(() => {
      localStorage.clear()
      sessionStorage.clear()
    })
    await page.goto("about:blank")
    await context.clearCookies()
    return context.pages().length === 1
  } catch {
    return false
  }
}

/** Closes the browser. Tests need not call it: the test files of a worker share a browser, which ends with the worker. */
export async function closeBrowser(): Promise<void> {
  await closePages()
  await (await browser)?.close()
  browser = undefined
  spare = undefined
}

/** The serious and critical accessibility violations that axe finds on the page, one text each. */
export async function violations(page: Page): Promise<string[]> {
  await page.evaluate(AXE)
  const found = await page.evaluate(async () => {
    interface Violation {
      readonly id: string
      readonly impact: string
      readonly nodes: readonly { readonly html: string; readonly failureSummary: string }[]
    }
    const { axe } = window as unknown as { axe: { run(): Promise<{ violations: Violation[] }> } }
    return (await axe.run()).violations
  })
  return found
    .filter(({ impact }) => impact === "serious" || impact === "critical")
    .flatMap(({ id, nodes }) => nodes.map(({ html, failureSummary }) => `${id}: ${html}\n${failureSummary}`))
}

/** The text that the YAML editor in a page, or in a part of it, shows. Folded lines are not in it. */
export function editorText(page: Page | Locator): Promise<string> {
  return page
    .locator(".cm-content")
    .evaluate((content) =>
      [...content.querySelectorAll(".cm-line")].map(({ textContent }) => textContent).join("\n"),
    )
}

/** Replaces the text of a YAML editor, by pasting. */
export async function pasteText(page: Page | Locator, text: string): Promise<void> {
  const editor = page.locator(".cm-content")
  await editor.press("Control+a")
  await editor.evaluate((content, text) => {
    const clipboardData = new DataTransfer()
    clipboardData.setData("text/plain", text)
    content.dispatchEvent(new ClipboardEvent("paste", { clipboardData, bubbles: true, cancelable: true }))
  }, text)
}

/** Saves artifacts/dashboard/<name>.png if SLUICE_PICTURES is set. People look at it; no test reads it. */
export async function picture(page: Page, name: string, { fullPage = true } = {}): Promise<void> {
  if (!process.env.SLUICE_PICTURES) return
  mkdirSync(ARTIFACTS, { recursive: true })
  await page.screenshot({ path: `${ARTIFACTS}${name}.png`, fullPage })
}

/** Whether the page scrolls sideways. */
export function isTooWide(page: Page): Promise<boolean> {
  return page.evaluate(() => document.documentElement.scrollWidth > document.documentElement.clientWidth)
}
