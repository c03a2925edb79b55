// A real Chromium that looks at the dashboard, and keeps account of what no page of it may ever do.

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

/** A page, and what went wrong on it so far. */
export interface Looked {
  readonly page: Page
  /** Errors in the console, exceptions, violations of the content security policy, and requests to any other host. */
  readonly troubles: readonly string[]
}

/** A tab of a browser that has no other. */
interface Tab {
  readonly context: BrowserContext
  readonly page: Page
  /** Whether it was opened with the default view, which most tests use. */
  readonly isPlain: boolean
  /** What the test that uses it allows and finds. */
  account: { readonly host: string; readonly troubles: string[] }
}

const SIZE = { width: 1280, height: 900 }

let browser: Promise<Browser> | undefined
const tabs = new Set<Tab>()
/** A wiped tab for the next test. A new one takes a second of processor time, most of it for new processes. */
let spare: Tab | undefined

/** Opens `url` in a browser that remembers nothing. */
export async function look(url: string, view: View = {}): Promise<Looked> {
  const isPlain = Object.keys(view).length === 0
  const tab = (isPlain ? spare : undefined) ?? (await openTab(view, isPlain))
  if (tab === spare) spare = undefined
  tabs.add(tab)
  const troubles: string[] = []
  tab.account = { host: new URL(url).host, troubles }
  await tab.page.goto(url)
  return { page: tab.page, troubles }
}

async function openTab(view: View, isPlain: boolean): Promise<Tab> {
  browser ??= chromium.launch({ executablePath: toolPath("chromium"), args: ["--font-render-hinting=none"] })
  const context = await (await browser).newContext({
    viewport: { width: view.width ?? SIZE.width, height: view.height ?? SIZE.height },
    colorScheme: view.theme ?? "light",
    locale: view.language ?? "en",
    reducedMotion: view.reducedMotion ? "reduce" : "no-preference",
  })
  context.on("request", (request) => {
    const asked = new URL(request.url())
    if (asked.host !== tab.account.host && asked.protocol !== "blob:")
      tab.account.troubles.push(`asked another host: ${request.url()}`)
  })
  context.on("weberror", (error) => tab.account.troubles.push(`exception: ${error.error().message}`))
  context.on("console", (message) => {
    // An answer that is no success is on the console whatever the page does with it.
    const isAnswer = /Failed to load resource/.test(message.text())
    if (message.type() === "error" && !isAnswer) tab.account.troubles.push(`console: ${message.text()}`)
  })
  // Also those that are not on the console.
  await context.exposeBinding("sluiceViolation", (_, text: string) => {
    tab.account.troubles.push(`policy: ${text}`)
  })
  await context.addInitScript(() => {
    document.addEventListener("securitypolicyviolation", ({ violatedDirective, blockedURI, sample }) => {
      const { sluiceViolation } = window as unknown as { sluiceViolation(text: string): void }
      sluiceViolation(`${violatedDirective} ${blockedURI} ${sample}`)
    })
  })
  const page = await context.newPage()
  // A machine that runs all tests at once is slow.
  page.setDefaultTimeout(20_000)
  const tab: Tab = { context, page, isPlain, account: { host: "", troubles: [] } }
  return tab
}

/** Call it after each test. */
export async function closePages(): Promise<void> {
  const used = [...tabs]
  tabs.clear()
  const [kept, ...others] = [
    ...used.filter(({ isPlain }) => isPlain),
    ...used.filter(({ isPlain }) => !isPlain),
  ]
  await Promise.all(others.map(({ context }) => context.close()))
  if (kept === undefined) return
  if (kept.isPlain && spare === undefined && (await isWiped(kept))) spare = kept
  else await kept.context.close()
}

/** Takes everything out of a tab that a test has put there. False when that fails, as on a page that did not load. */
async function isWiped({ context, page }: Tab): Promise<boolean> {
  try {
    await page.unrouteAll({ behavior: "ignoreErrors" })
    await page.evaluate(() => {
      localStorage.clear()
      sessionStorage.clear()
    })
    await page.goto("about:blank")
    await context.clearCookies()
    await page.emulateMedia({ colorScheme: "light" })
    await page.setViewportSize(SIZE)
    return context.pages().length === 1
  } catch {
    return false
  }
}

/** Ends the browser before its process ends, which would end it as well: test files of one worker share a browser. */
export async function closeBrowser(): Promise<void> {
  await closePages()
  await (await browser)?.close()
  browser = undefined
  spare = undefined
}

/** What axe finds serious or critical on the page as it is, a line each. */
export async function barriers(page: Page): Promise<string[]> {
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

/** Keeps a picture for people to look at, artifacts/dashboard/<name>.png, when SLUICE_PICTURES is set: no test reads it. */
export async function picture(page: Page, name: string, { fullPage = true } = {}): Promise<void> {
  if (!process.env.SLUICE_PICTURES) return
  mkdirSync(ARTIFACTS, { recursive: true })
  await page.screenshot({ path: `${ARTIFACTS}${name}.png`, fullPage })
}

/** Whether something is wider than the page, so that it has to be moved sideways. */
export function isTooWide(page: Page): Promise<boolean> {
  return page.evaluate(() => document.documentElement.scrollWidth > document.documentElement.clientWidth)
}
