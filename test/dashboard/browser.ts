// A real Chromium that looks at the dashboard, and keeps account of what no page of it may ever do.

import { mkdirSync, readFileSync } from "node:fs"
import { createRequire } from "node:module"
import { fileURLToPath } from "node:url"
import { type Browser, type BrowserContext, chromium, type Page } from "playwright-core"
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

let browser: Promise<Browser> | undefined
const contexts = new Set<BrowserContext>()

/** Opens `url` in a browser that nobody has used before. */
export async function look(url: string, view: View = {}): Promise<Looked> {
  browser ??= chromium.launch({ executablePath: toolPath("chromium"), args: ["--font-render-hinting=none"] })
  const context = await (await browser).newContext({
    viewport: { width: view.width ?? 1280, height: view.height ?? 900 },
    colorScheme: view.theme ?? "light",
    locale: view.language ?? "en",
    reducedMotion: view.reducedMotion ? "reduce" : "no-preference",
  })
  contexts.add(context)
  const troubles: string[] = []
  const { host } = new URL(url)
  context.on("request", (request) => {
    const asked = new URL(request.url())
    if (asked.host !== host && asked.protocol !== "blob:")
      troubles.push(`asked another host: ${request.url()}`)
  })
  context.on("weberror", (error) => troubles.push(`exception: ${error.error().message}`))
  context.on("console", (message) => {
    // An answer that is no success is on the console whatever the page does with it.
    const isAnswer = /Failed to load resource/.test(message.text())
    if (message.type() === "error" && !isAnswer) troubles.push(`console: ${message.text()}`)
  })
  // Also those that are not on the console.
  await context.exposeBinding("sluiceViolation", (_, text: string) => void troubles.push(`policy: ${text}`))
  await context.addInitScript(() => {
    document.addEventListener("securitypolicyviolation", ({ violatedDirective, blockedURI, sample }) => {
      const { sluiceViolation } = window as unknown as { sluiceViolation(text: string): void }
      sluiceViolation(`${violatedDirective} ${blockedURI} ${sample}`)
    })
  })
  const page = await context.newPage()
  // A machine that runs all tests at once is slow.
  page.setDefaultTimeout(20_000)
  await page.goto(url)
  return { page, troubles }
}

/** Call it after each test. */
export async function closePages(): Promise<void> {
  await Promise.all([...contexts].map((context) => context.close()))
  contexts.clear()
}

/** Call it after all tests. */
export async function closeBrowser(): Promise<void> {
  await closePages()
  await (await browser)?.close()
  browser = undefined
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

/** Keeps a picture for people to look at: artifacts/dashboard/<name>.png. */
export async function picture(page: Page, name: string, { fullPage = true } = {}): Promise<void> {
  mkdirSync(ARTIFACTS, { recursive: true })
  await page.screenshot({ path: `${ARTIFACTS}${name}.png`, fullPage })
}

/** Whether something is wider than the page, so that it has to be moved sideways. */
export function isTooWide(page: Page): Promise<boolean> {
  return page.evaluate(() => document.documentElement.scrollWidth > document.documentElement.clientWidth)
}
