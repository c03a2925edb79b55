// Finds the browser that Playwright installs, and checks that a browser can draw a page.

import { spawnSync } from "node:child_process"
import { createRequire } from "node:module"
import { fileURLToPath, pathToFileURL } from "node:url"

const self = fileURLToPath(import.meta.url)

/** The path where `npx playwright-core install chromium` installs the browser. It may not exist. */
export function playwrightChromium() {
  try {
    return createRequire(import.meta.url)("playwright-core").chromium.executablePath()
  } catch {
    // The dependencies are not installed yet.
    return undefined
  }
}

/**
 * Starts the browser as the tests do and draws text. A browser can print its version and still not start, because it loads
 * many libraries later.
 *
 * @param {string} path
 */
export function whyChromiumFails(path) {
  const { status, stderr, error } = spawnSync(process.execPath, [self, path], {
    encoding: "utf8",
    timeout: 120_000,
  })
  if (!error && status === 0) return undefined
  return `cannot show a page: ${error?.message ?? causeIn(stderr)}`
}

/** The line of Playwright's long error output that names the cause. @param {string} stderr */
function causeIn(stderr) {
  const lines = stderr.split("\n").map((line) => line.trim())
  return lines.find((line) => /error while loading|cannot open|FATAL|Error:/.test(line)) ?? lines[0] ?? ""
}

async function drawText(path) {
  const { chromium } = await import("playwright-core")
  const browser = await chromium.launch({ executablePath: path, timeout: 60_000 })
  try {
    const page = await browser.newPage()
    await page.setContent("<span>iiii</span><br><span>MMMM</span>")
    await page.screenshot()
    const widths = await page
      .locator("span")
      .evaluateAll((all) => all.map((one) => one.getBoundingClientRect().width))
    // Without any font, all letters have the same width.
    if (!(widths[0] > 0 && widths[0] < widths[1]))
      throw new Error("Error: no fonts are installed, so it draws no text")
  } finally {
    await browser.close()
  }
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href) {
  await drawText(process.argv[2]).catch((error) => {
    process.stderr.write(`${error instanceof Error ? error.message : error}\n`)
    process.exitCode = 1
  })
}
