// What only the browser needs: where Playwright keeps its own, and a check that it draws.

import { spawnSync } from "node:child_process"
import { createRequire } from "node:module"
import { fileURLToPath, pathToFileURL } from "node:url"

const self = fileURLToPath(import.meta.url)

/** The browser that `npx playwright-core install chromium` brings, which need not be there. */
export function playwrightChromium() {
  try {
    return createRequire(import.meta.url)("playwright-core").chromium.executablePath()
  } catch {
    // No dependency is installed yet.
    return undefined
  }
}

/**
 * A browser can print its version although it cannot start, because it loads many libraries later. So this starts it as
 * the tests do and lets it draw text.
 *
 * @param {string} path
 */
export function whyChromiumFails(path) {
  const { status, stderr, error } = spawnSync(process.execPath, [self, path], {
    encoding: "utf8",
    timeout: 120_000,
  })
  if (!error && status === 0) return undefined
  return `does not show a page: ${error?.message ?? causeIn(stderr)}`
}

/** Playwright prints a page of text around the one line that says what is wrong. @param {string} stderr */
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
    // Without a single font every letter is as wide as any other.
    if (!(widths[0] > 0 && widths[0] < widths[1]))
      throw new Error("Error: it draws no text, so it has no font")
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
